#!/bin/sh
# A folder of src/ may include only itself and folders that stand before it here; only these may see MPI.
set -u
cd "$(dirname "$0")/.."
layers="core machine model plan memory storage subfile net remote exchange engine api"
without_mpi="core machine model plan memory storage subfile net remote"
wrong=0

allowed=
for layer in $layers; do
  allowed="$allowed $layer"
  pattern=$(echo $allowed | tr ' ' '|')
  for line in $(grep -EHno '#include "[a-z_]+/' src/$layer/*.[ch]pp | sed 's/#include "//; s/ //g'); do
    folder=$(echo "$line" | sed 's/.*:\([a-z_]*\)\/$/\1/')
    if ! echo "$folder" | grep -Eqx "$pattern"; then
      echo "$line: $layer may not use $folder"
      wrong=1
    fi
  done
done
for layer in $without_mpi; do
  if grep -EHn '#include <(mpi.h|weir/weir.hpp)>' src/$layer/*.[ch]pp; then
    echo "$layer must do without MPI"
    wrong=1
  fi
done
for folder in src/*/; do
  echo "$layers" | grep -qw "$(basename "$folder")" || { echo "$folder has no place among the layers"; wrong=1; }
done
# The interposer stands on the library, and nothing of the library on it.
if grep -EHn '#include ".*interpose/' src/*/*.[ch]pp include/weir/*; then
  echo "src may not use interpose"
  wrong=1
fi
# The simulator stands on plans, and does without whatever carries them out; sim/library is a program of its own.
if grep -EHn '#include ("(memory|storage|subfile|exchange|engine|api)/|<mpi.h>)' sim/*.[ch]pp sim/experiments/*.[ch]pp; then
  echo "sim may only use core, machine, model and plan"
  wrong=1
fi
if grep -EHn '#include ".*sim/' src/*/*.[ch]pp include/weir/*; then
  echo "src may not use sim"
  wrong=1
fi
# A box is made without what runs in it.
if grep -EHn '#include ("(model|plan|memory|storage|subfile|net|remote|exchange|engine|api)/|<mpi.h>)' box/*.[ch]pp; then
  echo "box may only use core and machine"
  wrong=1
fi
if grep -EHn '#include ".*box/' src/*/*.[ch]pp include/weir/*; then
  echo "src may not use box"
  wrong=1
fi
[ $wrong -eq 0 ] && echo "layers hold: $layers"
exit $wrong

#!/bin/sh
# run.sh WEIR CC MPICC_OF_ANOTHER_MPI: what `weir run` says about programs that it cannot take over, and what it hands on.
set -eu
weir=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" run --help
says out "Examples:"

runs 2 "$weir" run
says err "no program is given"

echo 'int main(void) { return 0; }' >static.c
"$2" -static static.c -o static
runs 2 "$weir" run -n 1 ./static
says err "it is linked statically"

if command -v "$3" >/dev/null; then
  printf '#include <mpi.h>\nint main(int n, char** v) { MPI_Init(&n, &v); return MPI_Finalize(); }\n' >other.c
  "$3" other.c -o other
  runs 2 "$weir" run -n 1 ./other
  says err "and this Weir was built with"
fi

runs 2 "$weir" run --launcher ./none ./static.c
says err "cannot start './none'"

# A launcher that shows what it is given.
printf '#!/bin/sh\nfor word; do echo "$word"; done\n' >launcher
chmod +x launcher
WEIR_PLAN_BUFFERS=3 LD_PRELOAD= runs 0 "$weir" run --launcher ./launcher -n 2 sh -c 'exit 0'
says out "libweir_mpiio.so"
says out "WEIR_PLAN_BUFFERS=3"
says out "exit 0"

# Named first, as users are used to: it is the launcher, not a program to be started by another.
cp launcher mpirun
cp launcher srun
PATH=$PWD:$PATH runs 0 "$weir" run mpirun -n 2 sh -c 'exit 0'
says out "libweir_mpiio.so"
says out "exit 0"
! grep -qx mpirun out || fail "mpirun was started by a launcher"
runs 0 "$weir" run ./srun -n 2 sh -c 'exit 0'
says out "--export=ALL,LD_PRELOAD="
runs 2 "$weir" run ./srun --export=NONE -n 2 sh -c 'exit 0'
says err "add LD_PRELOAD="
runs 0 "$weir" run ./srun -n 2 sh --export=mine
says out "--export=mine"

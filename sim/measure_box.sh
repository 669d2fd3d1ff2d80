#!/bin/sh
# measure_box.sh WEIR DIRECTORY [PAIRS [SECONDS]]: times of Weir in boxes, as files that `weir box compare` reads; at most
# so many seconds each. Needs root and a quiet machine.
set -eu
weir=$1
directory=$2
pairs=${3:-7}
seconds=${4:-120}
mkdir -p "$directory"
measure() {
  name=$1
  shift
  echo "$name"
  "$weir" bench "$@" --pairs "$pairs" --budget "$seconds" --json "$directory/$name.json" >/dev/null
}
for rate in 50mbit 200mbit; do
  for particles in 1000 25000; do
    measure hacc-$particles-$rate hacc --particles $particles --box torus --rate $rate --against romio
  done
  measure s3d-$rate s3d --box torus --rate $rate --against romio
  measure array1d-$rate array1d --bytes 1000000 --box torus --rate $rate --against romio
done
measure placement hacc --particles 10000 --box torus:1 --rate 50mbit:200mbit --against greedy \
  --set plan.mode=aggregate --set plan.aggregators=3 --set plan.buffer_size=256KiB

#!/bin/sh
# fuzz.sh COMPILER SECONDS: libFuzzer changes the corpus, led by what it reaches, and gives it to every decoder. Exits with
# 77 where the compiler has no libFuzzer. What it finds is left in the working directory.
set -eu
compiler=$1
seconds=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$directory/probe.cpp"
"$compiler" -fsanitize=fuzzer "$directory/probe.cpp" -o "$directory/probe" 2>/dev/null || {
  echo "skipped: $compiler has no libFuzzer"
  exit 77
}
for source in src/core/errors.cpp src/core/units.cpp src/core/log.cpp src/core/nearest.cpp src/net/frame.cpp src/net/handshake.cpp src/net/munge.cpp src/net/secret.cpp \
  src/net/private_file.cpp src/net/contact_file.cpp src/net/endpoint.cpp src/net/socket.cpp src/remote/protocol.cpp \
  src/remote/transfer_heading.cpp src/remote/data_sum.cpp src/remote/served_socket.cpp \
  tests/net/decoder_fuzz.cpp; do
  echo "#include \"$root/$source\""
done >"$directory/all.cpp"
"$compiler" -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -DWEIR_LIBFUZZER \
  -DFMT_HEADER_ONLY -I"$root/src" -I"$root/include" -I"$root/tests" "$directory/all.cpp" -o "$directory/fuzz" -lxxhash -lcrypto
mkdir "$directory/new"
"$directory/fuzz" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 "$directory/new" "$root/tests/data/frames"

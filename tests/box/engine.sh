#!/bin/sh
# engine.sh WEIR NAME PROGRAM RANDOM_TEST: Weir's own calls over 8 hosts, whole files checked from another host; random
# declarations against a reference; and what Weir takes the hosts for.
set -eu
weir=$1
name=$2
program=$3
random=$4
. "$(dirname "$0")/common.sh"

job 16 "$weir" machine >machine
says machine "8 nodes"
for mode in aggregate direct; do
  WEIR_PLAN_MODE=$mode job 16 "$program" write "$box/fs/$mode" 5
  on c5 "$program" check "$box/fs/$mode" 5 16
  WEIR_PLAN_MODE=$mode job 16 "$program" read "$box/fs/$mode" 5
done
WEIR_EXPLAIN=1 job 16 "$program" write "$box/fs/explained" 6 2>explained
says explained "torus in a box"
says explained "bytes 0 to 262144"  # a stripe of CephFS
RANDOM_CASES=2 job 8 -x RANDOM_CASES -x TMPDIR="$box/fs" "$random" --gtest_filter='*byte_for_byte' >random || fail "random" random

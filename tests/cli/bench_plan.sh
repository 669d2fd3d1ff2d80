#!/bin/sh
# bench_plan.sh WEIR: what `weir bench plan` prints for people and for programs.
set -eu
weir=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" bench plan --help
for word in --pieces --pattern --ranks --nodes --operation --json --set irregular shuffled strided shared wide \
  overlapping Examples:; do
  says out "$word"
done
runs 0 "$weir" bench --help
says out "plan"

runs 0 "$weir" bench plan --pieces 100,3000 --ranks 3
silent err
says out "plans of 3 ranks on 1 node to write"
grep -qE '^pattern +pieces +windows +time +ns/piece +ns/piece/log2 +list B/piece +peak B/piece +runs$' out ||
  fail "header" out
number='[0-9]+(\.[0-9]+)?'
for pattern in irregular shuffled strided shared wide overlapping; do
  lines=$(grep -cE "^$pattern +[0-9]+ +[0-9]+ +$number [mun]?s +$number +$number +$number +$number +[0-9]+\$" out || true)
  [ "$lines" -eq 2 ] || fail "$lines lines of $pattern instead of 2" out
done

runs 0 "$weir" bench plan --pieces 1000 --pattern shared,irregular --ranks 4 --nodes 2 --operation read \
  --set plan.aggregators=4 --json file.json
silent err
says out "plans of 4 ranks on 2 nodes to read"
[ "$(grep -cE '^(irregular|shared) ' out)" -eq 2 ] || fail "two patterns asked for" out
for line in '"ranks": 4,' '"nodes": 2,' '"operation": "read",' '"plan.aggregators": "4"' '"pattern": "irregular",' \
  '"pattern": "shared",' '"pieces": 1000,'; do
  says file.json "$line"
done
for key in windows times_s median_s ns_per_piece ns_per_piece_log2 list_bytes peak_memory_bytes; do
  [ "$(grep -c "\"$key\":" file.json)" -eq 2 ] || fail "$key in both results" file.json
done

runs 0 "$weir" bench plan --pieces 1000 --pattern strided --json -
silent err
case $(head -c 1 out) in
  '{') ;;
  *) fail "only JSON on the standard output" out ;;
esac

runs 2 "$weir" bench plan --pieces 0
runs 2 "$weir" bench plan --pattern stride
runs 2 "$weir" bench plan --pieces 10 --set plan.memory=lots
says err "plan.memory"
runs 2 "$weir" bench plan --pieces 10 --set nonsense
runs 1 "$weir" bench plan --pieces 10 --json missing/file.json
says err "cannot write 'missing/file.json'"

#!/bin/sh
# papers.sh WEIR DIRECTORY: runs all experiments with their sweeps, compares the times kept of boxes with simulated ones,
# and writes DIRECTORY/papers.md and the plots beside it.
set -eu
weir=$1
docs=$2
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
mkdir -p "$docs/papers"
names=$("$weir" sim --list | cut -d ' ' -f 1)
for name in $names; do
  echo "$name"
  "$weir" sim "$name" --sweep --markdown "$parts/$name.md" --svg "$docs/papers/$name.svg" >/dev/null
done
"$weir" box compare "$docs"/papers/box/*.json --markdown "$parts/box.md" >/dev/null
{
  cat "$(dirname "$0")/papers_intro.md"
  for name in $names; do cat "$parts/$name.md"; done
  cat "$(dirname "$0")/papers_box.md" "$parts/box.md"
} >"$docs/papers.md"

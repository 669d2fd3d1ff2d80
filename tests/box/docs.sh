#!/bin/sh
# docs.sh WEIR NAME PAGE: every line of the page's example for a box that is up.
set -eu
weir=$1
name=$2
page=$3
. "$(dirname "$0")/common.sh"
PATH=$(dirname "$weir"):$PATH
sed -n '/^```sh$/,/^```$/p' "$page" | grep '^weir ' >lines
[ "$(wc -l <lines)" -ge 10 ] || fail "the example is gone" lines
while read -r line; do
  line=$(echo "$line" | sed -E "s/^weir box (exec|run|link|cut|mend)/& --box $name/; s|/run/weir-box/box/|$box/|g")
  timeout 60 sh -c "$line" >out 2>err </dev/null || fail "'$line' fails" out err
done <lines

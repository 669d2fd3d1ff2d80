#!/bin/sh
# down.sh WEIR NAME
set -eu
weir=$1
name=$2
. "$(dirname "$0")/common.sh"
"$weir" box down "$name"
[ ! -e "$box" ] || fail "the box's directory is still there"

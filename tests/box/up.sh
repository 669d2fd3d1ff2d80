#!/bin/sh
# up.sh WEIR NAME: the box that the other tests use.
set -eu
weir=$1
name=$2
. "$(dirname "$0")/common.sh"
"$weir" box down "$name" >/dev/null 2>&1 || true  # left by tests that were ended
"$weir" box up "$name" --weak

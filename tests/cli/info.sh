#!/bin/sh
# info.sh WEIR PAGE: what `weir info` prints, where values come from, and that PAGE is up to date.
set -eu
weir=$1
page=$2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" --version
grep -qE '^weir [0-9]+\.[0-9]+\.[0-9]+$' out || fail "version" out

runs 0 "$weir" --help
says out "Examples:"
says out "info"
runs 0 "$weir" info --help
says out "--json"
says out "Examples:"

runs 2 "$weir"
runs 2 "$weir" inof
says err "did you mean 'info'?"
runs 2 "$weir" info --jsno
runs 2 "$weir" info --json --markdown

runs 0 "$weir" info
silent err
says out "plan.memory"
says out "WEIR_PLAN_MEMORY"
says out "MPI"

echo '[plan]
buffers = 3' >weir.toml
runs 0 env WEIR_PLAN_MODE=direct "$weir" info
grep -qE '^plan\.buffers +3 +weir\.toml:2 ' out || fail "value from the file" out
grep -qE '^plan\.mode +direct +WEIR_PLAN_MODE ' out || fail "value from the environment" out
grep -qE '^plan\.memory +64MiB +default ' out || fail "default" out

runs 0 env WEIR_PLAN_MODE=direct "$weir" info --json
says out '"origin": "weir.toml:2"'
says out '"environment": "WEIR_PLAN_MODE"'
says out '"warnings": []'

runs 0 env WEIR_PLAN_MEMROY=1MiB "$weir" info
says err "did you mean WEIR_PLAN_MEMORY?"
runs 2 env WEIR_PLAN_MEMORY=lots "$weir" info
says err "cannot use plan.memory = 'lots' from WEIR_PLAN_MEMORY"
silent out

runs 0 "$weir" info --markdown
cmp -s out "$page" || { diff -u "$page" out || true; fail "the page of settings is old: weir info --markdown >docs/settings.md"; }

#!/bin/sh
# setup.sh SETUP: what the set-up script does with a missing package, as root, with sudo and without either.
set -eu
setup=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
mkdir bin

# stub NAME BODY: a program that is found before the real one.
stub() {
  printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
  chmod +x "bin/$1"
}
fail() {
  echo "FAILED: $1" >&2
  cat out >&2
  exit 1
}
# runs CODE: the script's exit code is CODE; output in out, calls of apt-get in calls.
runs() {
  : >calls
  code=0
  PATH="$PWD/bin:$PATH" sh "$setup" >out 2>&1 || code=$?
  [ "$code" -eq "$1" ] || fail "exit code $code, not $1"
}

stub apt-get "echo \"\$@\" >>$directory/calls"
stub sudo 'exit 1'
stub id 'echo 1000'

stub dpkg-query 'shift 3; for package; do echo "$package installed"; done'
runs 0
[ ! -s out ] && [ ! -s calls ] || fail "nothing to do, but it did something"

stub dpkg-query 'shift 3; for package; do [ $package = ninja-build ] || echo "$package installed"; done; exit 1'
runs 1
grep -q 'packages are missing: ninja-build$' out || fail "the missing package is not named"
grep -q 'sudo apt-get install .* ninja-build$' out || fail "the command is not given"
[ ! -s calls ] || fail "installs without being allowed to"

stub sudo '[ "$1" = -n ] && exit 0; exec "$@"'
runs 0
grep -q '^install .* ninja-build$' calls || fail "does not install through sudo"

stub sudo 'exit 1'
stub id 'echo 0'
runs 0
grep -q '^update' calls && grep -q '^install .* ninja-build$' calls || fail "does not install as root"

stub dpkg-query 'shift 3; for package; do [ $package = cmake ] && echo "cmake config-files" || echo "$package installed"; done'
runs 0
grep -q '^install .* cmake$' calls || fail "takes a removed package for an installed one"

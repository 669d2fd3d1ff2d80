# What the tests of the command line share; to be read in with `.`.
fail() {
  echo "FAILED: $1" >&2
  shift
  [ $# -eq 0 ] || cat "$@" >&2
  exit 1
}
# runs CODE COMMAND...: the exit code is CODE; output in the files out and err.
runs() {
  expected=$1
  shift
  code=0
  "$@" >out 2>err || code=$?
  [ "$code" -eq "$expected" ] || fail "'$*' exits with $code, not $expected" out err
}
says() { grep -qF -- "$2" "$1" || fail "no '$2' in $1:" "$1"; }
silent() { [ ! -s "$1" ] || fail "unexpected output in $1:" "$1"; }

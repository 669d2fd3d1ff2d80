#!/bin/sh
# Builds and tests every variant, then tells how each went. Exits 1 when any failed. The next variant is built while one is
# tested: many tests wait more than they work.
set -u
cd "$(dirname "$0")/.."

variants=${*:-release mpich sanitize}
summary=
failed=0

directory_of() { [ "$1" = release ] && echo build || echo "build/$1"; }

build_all() {
  for variant in $variants; do
    directory=$(directory_of "$variant")
    cmake --preset "$variant" >"$directory/build.log" 2>&1 && nice cmake --build --preset "$variant" >>"$directory/build.log" 2>&1
    echo $? >"$directory/build.code"
  done
}

for variant in $variants; do
  directory=$(directory_of "$variant")
  mkdir -p "$directory"
  rm -f "$directory/build.code"
done
build_all &
builder=$!
trap 'kill $builder 2>/dev/null' EXIT

for variant in $variants; do
  echo "== $variant"
  directory=$(directory_of "$variant")
  started=$(date +%s)
  until [ -s "$directory/build.code" ]; do sleep 1; done
  if [ "$(cat "$directory/build.code")" -ne 0 ]; then
    cat "$directory/build.log"
    result="not built"
    failed=1
  else
    log=$directory/test.log
    ctest --preset "$variant" 2>&1 | tee "$log"
    result=$(sed -n 's/^\([0-9]*% tests passed.*\)/\1/p' "$log")
    case $result in
      "100% tests passed"*) ;;
      *) failed=1; result=${result:-"no test ran"} ;;
    esac
    skipped=$(grep -c '\*\*\*Skipped' "$log")
    [ "$skipped" -eq 0 ] || result="$result; $skipped skipped"
  fi
  summary="$summary$(printf '%-10s %s, %s s' "$variant" "$result" $(($(date +%s) - started)))
"
done

printf '\n%s' "$summary"
exit $failed

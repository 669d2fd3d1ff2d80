#!/bin/sh
# Builds and tests every variant, then tells how each went. Exits 1 when any failed.
set -u
cd "$(dirname "$0")/.."

variants=${*:-release mpich sanitize}
summary=
failed=0

for variant in $variants; do
  echo "== $variant"
  directory=build
  [ "$variant" = release ] || directory=build/$variant
  log=$directory/test.log
  started=$(date +%s)
  if ! cmake --preset "$variant" || ! cmake --build --preset "$variant"; then
    result="not built"
    failed=1
  else
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

# What the tests in a box share; to be read in with `.`. Needs: weir, name.
. "$(dirname "$0")/../cli/checks.sh"
[ "$(id -u)" -eq 0 ] || { echo "skipped: a box takes root"; exit 77; }
for needed in ip tc ceph-mon ceph-osd ceph-mds ceph-fuse; do
  command -v $needed >/dev/null || { echo "skipped: no $needed here (packaging/setup.sh installs it)"; exit 77; }
done
box=/run/weir-box/$name
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
# job RANKS COMMAND...: an MPI job in the box, with a limit of time.
job() {
  ranks=$1
  shift
  timeout 60 "$weir" box run --box "$name" -n "$ranks" "$@" </dev/null
}
on() {
  host=$1
  shift
  timeout 60 "$weir" box exec --box "$name" "$host" -- "$@" </dev/null
}
# traces: namespaces, processes, links and mounts of this machine, as far as boxes could leave any.
traces() {
  lsns --noheadings --raw --output TYPE | sort | uniq -c
  ps -e -o comm= | grep -E '^(weir-box|ceph-|orted|hydra_)' | sort || true
  ip -o link | wc -l
  awk '{ print $5 }' /proc/self/mountinfo | sort
  ls /run/weir-box 2>/dev/null || true
}
# settled FILE: the traces, when processes that have ended are no longer there.
settled() {
  tries=0
  while ps -e -o stat=,comm= | grep -Eq '^Z.* (weir-box|ceph-|orted|hydra_)' && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  traces >"$1"
}
# nothing_left BEFORE: the machine is as it was, give or take what others do for a moment.
nothing_left() {
  for attempt in 1 2 3 4 5; do
    settled after
    cmp -s "$1" after && return
    sleep 0.5
  done
  diff "$1" after >differences || true
  fail "something is left" differences
}

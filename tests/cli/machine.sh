#!/bin/sh
# machine.sh WEIR PAGE: what `weir machine` prints, saves and refuses, and that the examples of PAGE can be used.
set -eu
weir=$1
page=$2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" machine --help
for word in --save --json --list Examples: "short text" topology.conf "Exit codes"; do says out "$word"; done
runs 0 "$weir" --help
says out "machine"

stored="cooley gpu-cluster intrepid laptop mira mira-512 theta tofud toy"
runs 0 "$weir" machine --list
silent err
for name in $stored; do grep -qE "^$name +[0-9]+ " out || fail "$name is not listed" out; done
[ "$(wc -l <out)" -eq $(($(echo "$stored" | wc -w) + 1)) ] || fail "other machines are listed" out
runs 0 "$weir" machine --list --json
says out '"name": "theta"'

for name in $stored; do
  runs 0 "$weir" machine "$name" --save "$name.toml"
  silent err
  mv out printed
  says printed "$name"
  for part in topology links "way out" bank storage; do grep -q "^$part" printed || fail "no $part of $name" printed; done
  runs 0 "$weir" machine "$name.toml"
  cmp -s out printed || fail "$name is printed differently when it comes from a file" out
  runs 0 "$weir" machine "./$name.toml" --save -
  cmp -s out "$name.toml" || fail "$name is saved differently when it comes from a file" out
  runs 0 "$weir" machine "$name" --json
  mv out stored.json
  runs 0 "$weir" machine "$name.toml" --json
  cmp -s out stored.json || fail "$name is not equal to what was saved" out
done

runs 0 "$weir" machine mira
says out "torus, shape [8, 12, 16, 16, 2]"
says out "49152 nodes with 16 ranks each"
says out "2 GB/s (document: TAPIOCA)"
says out "384 groups of 128 nodes"

says out "real memory"
runs 0 "$weir" machine toy
grep -qE '^  hbm +emulated in ordinary memory: this node has no hbm' out || fail "it does not say that it is emulated" out
runs 0 "$weir" machine flat 2 bank scratch ssd 1GB
grep -qE '^  scratch +emulated' out || fail "it does not say that it is emulated" out

runs 0 "$weir" machine torus 4x4x2 link 2GBps ranks 16
says out "2 GB/s (configured)"
says out "32 nodes with 16 ranks each"
runs 0 "$weir" machine 'tree (4+4)+2 bank dram 64GB' --json
says out '"kind": "tree"'
says out '"origin": "configured"'

sed -n '/^```toml$/,/^```$/p' "$page" | grep -v '^```' >example.toml
runs 0 "$weir" machine example.toml
says out "512 nodes with 16 ranks each"
sed 's/^shape/shap/' example.toml >mine.toml
runs 2 "$weir" machine mine.toml
while read -r line; do says "$page" "$line"; done <err
runs 0 "$weir" machine $(sed -n '/^torus .*ranks 16$/,/^```$/p' "$page" | grep -v '^```')
says out "20 GB/s (configured)"
for topology in $(sed -n 's/^| `\([a-z]* [^`]*\)`.*/\1/p' "$page" | grep -E '^(mesh|torus|dragonfly|fattree|flat|tree) ' | tr ' ' '~'); do
  runs 0 "$weir" machine $(echo "$topology" | tr '~' ' ')
done
for name in $stored; do grep -q "^| \`$name\` |" "$page" || fail "$name is not on the page"; done

XDG_CACHE_HOME=$directory/cache
export XDG_CACHE_HOME
runs 0 "$weir" machine
for word in "hardware of a node" cores "numa node" cache "nothing was measured"; do says out "$word"; done
runs 0 "$weir" machine --calibrate --seconds 1 --save here.toml
for word in "bank.dram.read" "storage.write" "kept in $XDG_CACHE_HOME"; do says out "$word"; done
says here.toml "(measured"
runs 0 "$weir" machine
says out "bank.dram.read"
runs 0 "$weir" machine here.toml
says out "(measured"
runs 2 "$weir" machine mira --calibrate

# Memory servers are one bank more.
"$weir" memory serve --size 64MiB --listen unix:socket --contact contact >serving &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$directory"' EXIT
until grep -q '^contact file' serving; do kill -0 $server && sleep 0.05; done
WEIR_REMOTE_CONTACT=contact runs 0 "$weir" machine
says out "remote, network scope"
says out "67.108864 MB (system: of memory servers)"
WEIR_REMOTE_CONTACT=contact runs 0 "$weir" machine --calibrate --seconds 1 --save servers.toml
for word in "bank.remote.latency" "bank.remote.read" "bank.remote.write"; do says out "$word"; done
runs 0 "$weir" machine servers.toml
says out "remote, network scope"
WEIR_REMOTE_CONTACT=missing runs 0 "$weir" machine
says err "missing"
kill $server
wait $server

printf 'SwitchName=top Switches=s[0-1]\nSwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-5,9]\n' >topology.conf
runs 0 "$weir" machine topology.conf
says out "7 nodes"
echo 'SwitchName=top Switches=s9' >topology.conf
runs 2 "$weir" machine topology.conf
says err "topology.conf:1: no line for the switch 's9'"

printf 'name = "bad"\n[topology]\nkind = "torus"\nshap = [4, 4]\n' >bad.toml
runs 2 "$weir" machine bad.toml
silent out
says err "cannot read machine from bad.toml:4:1: unknown key 'shap' in [topology]"
says err "did you mean 'shape'?"
printf 'name = "bad"\n[topology]\nkind = "torus"\nshape = [4, 0]\n' >bad.toml
runs 2 "$weir" machine bad.toml
says err "bad.toml:4:13: 0 for 'shape'"
head -c 4000 /dev/urandom >noise.toml
runs 2 "$weir" machine noise.toml
runs 2 "$weir" machine /dev/zero
says err "larger than"

runs 2 "$weir" machine mria
says err "did you mean 'mira'?"
runs 2 "$weir" machine torus 4x4 lnk 2GBps
says err "word 3 ('lnk', column 11)"
runs 2 "$weir" machine --list mira
runs 2 "$weir" machine mira --jsno
runs 1 "$weir" machine missing.toml
says err "No such file"
runs 1 "$weir" machine toy --save missing/toy.toml
says err "cannot write 'missing/toy.toml'"

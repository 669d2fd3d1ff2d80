#!/bin/sh
# cut_off.sh SERVER command...: runs it in a network of its own with a memory server behind a slow link, whose far end
# `$TEST_LINK down` takes down; or plainly where that is not possible.
server=$1
if [ -z "${TEST_LINK:-}" ]; then
  if unshare -n ip link add weir0 type veth peer name weir1 2>/dev/null; then
    TEST_LINK=later exec unshare -n -m "$0" "$@"
  fi
  shift
  exec "$@"
fi
shift
directory=$(mktemp -d)
mount -t sysfs weir /sys  # where UCX looks for devices
unshare -n -m sh -c 'mount -t sysfs weir /sys && touch "$1" && exec sleep 600' sh "$directory/there" &
other=$!
process=
trap 'kill $process $other 2>/dev/null; wait $process $other; rm -rf "$directory"' EXIT
until [ -e "$directory/there" ]; do sleep 0.01; done
there="nsenter -t $other -n -m"
export TEST_LINK="$there ip link set weir1"
ip link set lo up
ip link add weir0 type veth peer name weir1
ip link set weir1 netns $other
ip addr add 10.77.0.1/24 dev weir0
ip link set weir0 up
$there ip addr add 10.77.0.2/24 dev weir1
$there ip link set weir1 up
tc qdisc add dev weir0 root tbf rate 60mbit burst 32kb latency 100ms
$there tc qdisc add dev weir1 root tbf rate 16mbit burst 32kb latency 300ms  # so that nothing is stored before the cut
UCX_NET_DEVICES=weir1 $there "$server" 100000000 "$directory/contact" tcp:10.77.0.2:0 "$directory/secret" &
process=$!
until [ -e "$directory/contact" ]; do
  kill -0 $process || exit 1
  sleep 0.05
done
UCX_NET_DEVICES=weir0 WEIR_REMOTE_CONTACT=$directory/contact WEIR_REMOTE_SECRET=$directory/secret "$@" || exit 1
kill -0 $process  # the server has survived it all

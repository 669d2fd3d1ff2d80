#!/bin/sh
# Installs the Debian packages that Weir is built and tested with, where they are missing.
set -eu

packages="
  build-essential gfortran cmake ninja-build pkg-config
  openmpi-bin libopenmpi-dev mpich libmpich-dev
  libhwloc-dev liburing-dev libtomlplusplus-dev libfmt-dev libcli11-dev nlohmann-json3-dev libxxhash-dev
  libssl-dev libucx-dev libmunge-dev munge libsimgrid-dev
  libnetcdf-dev libpnetcdf-dev pnetcdf-bin libhdf5-openmpi-dev hdf5-tools
  libgtest-dev clang libclang-rt-14-dev valgrind ucx-utils
  iproute2 util-linux procps fuse3 attr ceph-mon ceph-osd ceph-mds ceph-fuse ceph-common
"

command -v dpkg-query >/dev/null || {
  echo "weir: cannot check for packages: dpkg-query not found; needed, under the names that Debian gives them:" >&2
  echo "     " $packages >&2
  exit 1
}

present=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages 2>/dev/null | sed -n 's/ installed$//p')
missing=
for package in $packages; do
  case "
$present
" in
    *"
$package
"*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -z "$missing" ] && exit 0

install="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -eq 0 ]; then
  run=
elif sudo -n true 2>/dev/null; then
  run=sudo
else
  echo "weir: packages are missing:$missing" >&2
  echo "      install them: sudo apt-get update && sudo $install" >&2
  exit 1
fi

echo "installing packages:$missing"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -q
$run $install

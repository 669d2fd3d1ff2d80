#!/bin/sh
# private_mounts.sh command...: runs it where mounts are seen by nobody else, or plainly where that is not possible.
if unshare -m true 2>/dev/null; then
  WEIR_TEST_PRIVATE_MOUNTS=1
  export WEIR_TEST_PRIVATE_MOUNTS
  exec unshare -m "$@"
fi
exec "$@"

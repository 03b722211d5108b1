#!/usr/bin/env bash
# Our kernels on virtual devices against the kernel of tpu-inference in JAX's TPU interpret mode, on
# the same operands: every bit of the results must be the same.
# usage: oracle_test.sh TPU_ORACLE ENVIRONMENT   (the latter as tools/fetch_python makes it)
# Exit code 77 where JAX has not been fetched.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
oracle=$1 environment=$2

[ -e "$environment/stamp" ] || {
  echo "skipped: JAX is not in $environment; tools/fetch_python fetches it from PyPI"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for num_devices in 2 4; do
  "$oracle" "$work/$num_devices" $num_devices
  # -B: nothing is written beside the sources.
  PYTHONPATH=$environment/kernel "$environment/bin/python" -B "$here/compare_with_jax.py" "$work/$num_devices"
done

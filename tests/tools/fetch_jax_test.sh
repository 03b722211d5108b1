#!/usr/bin/env bash
# tools/fetch_jax without a network and with packages that are not what they were. (That the real
# ones are accepted, ./dev test shows.)
# usage: fetch_jax_test.sh PATH_OF_FETCH_JAX
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
fetch=$1

nothing_left() { [ -z "$(ls -A "$root/jax")" ]; }

# A python3 whose pip installs an empty package and downloads a wheel that holds $1.
fake_pip() {
  fake python3 'case "$*" in
--version) echo "Python 3.99" ;;
*" install "*) while [ $1 != --target ]; do shift; done; mkdir -p "$2/jax" ;;
*" download "*)
  while [ $1 != --dest ]; do shift; done; cd "$2"
  mkdir -p tpu_inference/kernels/collectives; echo >tpu_inference/kernels/collectives/'"$1"'
  cmake -E tar cf tpu_inference-0.whl --format=zip tpu_inference; rm -r tpu_inference ;;
esac'
}

machine
expect 1 'could not install' "no python3" "$fetch" "$root/jax"
holds "nothing is left behind" nothing_left

machine
fake python3 'echo "ERROR: no route to host"; exit 1'
expect 1 'no route to host' "no network; the reason is shown" "$fetch" "$root/jax"
holds "nothing is left behind" nothing_left

machine
fake_pip other.py
expect 1 'holds no all_gather_matmul.py' "a package without the kernel" "$fetch" "$root/jax"
holds "nothing is left behind" nothing_left

machine
fake_pip all_gather_matmul.py
expect 0 '/jax/site' "the path is printed" "$fetch" "$root/jax"
holds "the kernel is there" [ -e "$root/jax/site/tpu_inference/kernels/collectives/all_gather_matmul.py" ]
fake python3 '[ "$*" = --version ] && echo "Python 3.99" || { echo "asked again"; exit 1; }'
expect 0 '/jax/site' "what is there is not fetched again" "$fetch" "$root/jax"
fake python3 '[ "$*" = --version ] && echo "Python 4.0" || { echo "asked again"; exit 1; }'
expect 1 'asked again' "it is for another Python" "$fetch" "$root/jax"

finish

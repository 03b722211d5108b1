#!/usr/bin/env bash
# tools/setup on machines with and without root, sudo, apt-get and a network.
# usage: setup_test.sh PATH_OF_SETUP
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
setup=$1

# An apt-get that notes what it was asked; `update` works from the given call on.
apt_get() {
  fake id 'echo '"$1"
  fake sleep ""
  fake apt-get 'while [[ $1 = -* ]]; do [[ $1 != -o ]] || shift; shift; done
echo "$*" >>"$root/asked"
[ $1 != update ] || [ $(grep -c update "$root/asked") -ge '"$2 ]"
}

machine
fake aarch64-linux-gnu-g++ ''
fake qemu-aarch64 ''
fake python3 ""
fake apt-get 'echo asked >>"$root/asked"'
if [ -e /usr/src/googletest/CMakeLists.txt ]; then
  expect 0 '' "nothing is missing" "$setup" long
  holds "apt-get is left alone when nothing is missing" test ! -e "$root/asked"
fi

machine
expect 1 'no apt-get' "a machine of another kind" "$setup" format
expect 1 'clang-format-14' "and the packages are named" "$setup" format

machine
apt_get 1000 1
expect 1 'you are not root and there is no sudo' "a user without sudo" "$setup" format
expect 1 'clang-format-14' "and the packages are named" "$setup" format

machine
apt_get 1000 1
fake sudo 'exit 1'
expect 1 'sudo did not let you in' "a user who may not" "$setup" format

machine
apt_get 1000 1
fake sudo '[ $1 != -n ] || shift; echo sudo >>"$root/asked"; exec "$@"'
expect 0 'Installing' "a user who may" "$setup" format
holds "the install goes through sudo" grep -qx sudo "$root/asked"

machine
apt_get 0 1
expect 0 'Installing packages this machine lacks: clang-format-14' "root" "$setup" format
holds "lists are updated, then the package installed" \
  test "$(tr '\n' ';' <"$root/asked")" = 'update;install --no-install-recommends clang-format-14;'

machine
apt_get 0 2
expect 0 '' "the network is back at the second update" "$setup" format
holds "the update is tried again" test "$(grep -c update "$root/asked")" = 2

machine
apt_get 0 1
fake apt-get '[[ $* != *install* ]] || { echo "no such package"; exit 100; }'
expect 1 'no such package' "apt-get's own words are shown" "$setup" format
expect 1 'missing packages' "and the packages named" "$setup" format

expect 2 "no group named 'nonsense'" "an unknown group" "$setup" nonsense
expect 2 'usage' "no group" "$setup"

finish

#!/usr/bin/env bash
# tools/fetch_python without a network, with an old Python, and with packages that are not what they
# were. (That the real ones are accepted, ./dev test shows.)
# usage: fetch_python_test.sh PATH_OF_FETCH_PYTHON
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
fetch=$1

nothing_left() { [ ! -e "$root/python" ]; }

# The commands that this script needs beside the basic ones.
python_machine() {
  machine
  local command
  for command in chmod rmdir; do ln -s "$(type -P $command)" "$root/bin/$command"; done
}

# A python3 whose virtual environments have a pip that does nothing but download a wheel that holds
# the file $1.
fake_python() {
  fake python3 'case "$*" in
--version) echo "Python 3.99" ;;
"-c "*) ;;
"-m venv "*) mkdir -p "$3/bin"; echo >"$3/pyvenv.cfg"
  cat "$root/bin/fake_pip" >"$3/bin/python"; chmod +x "$3/bin/python" ;;
esac'
  fake fake_pip '[[ "$*" = *" download "* ]] || exit 0
while [ $1 != --dest ]; do shift; done; mkdir "$2"; cd "$2"
mkdir -p tpu_inference/kernels/collectives; echo >tpu_inference/kernels/collectives/'"$1"'
cmake -E tar cf tpu_inference-0.whl --format=zip tpu_inference; rm -r tpu_inference'
}

python_machine
expect 1 'no Python 3.11' "no python3" "$fetch" "$root/python"
holds "nothing is left behind" nothing_left

python_machine
fake python3 '[ "$1" != -c ] || { echo "python3 is 3.10"; exit 1; }'
expect 1 'python3 is 3.10' "an old one" "$fetch" "$root/python"
holds "nothing is left behind" nothing_left

python_machine
fake python3 '[[ "$*" != "-m venv "* ]] || { mkdir -p "$3/bin"; echo "no ensurepip"; exit 1; }'
expect 1 'no ensurepip' "a Python without venv" "$fetch" "$root/python"
holds "nothing is left behind" nothing_left

python_machine
fake_python all_gather_matmul.py
fake fake_pip 'echo "ERROR: no route to host"; exit 1'
expect 1 'no route to host' "no network; the reason is shown" "$fetch" "$root/python"
holds "nothing is left behind" nothing_left

python_machine
fake_python other.py
expect 1 'holds no all_gather_matmul.py' "a package without the kernel" "$fetch" "$root/python"
holds "nothing is left behind" nothing_left

python_machine
fake_python all_gather_matmul.py
mkdir "$root/python"
echo mine >"$root/python/file"
expect 1 'not empty' "a folder that holds something else" "$fetch" "$root/python"
holds "is left as it was" [ -e "$root/python/file" ]

python_machine
fake_python all_gather_matmul.py
expect 0 '/python/bin/python' "the path is printed" "$fetch" "$root/python"
holds "the kernel is there" \
  [ -e "$root/python/kernel/tpu_inference/kernels/collectives/all_gather_matmul.py" ]
fake python3 '[ "$*" = --version ] && echo "Python 3.99" || { echo "asked again"; exit 1; }'
expect 0 '/python/bin/python' "what is there is not fetched again" "$fetch" "$root/python"
fake python3 '[ "$*" = --version ] && echo "Python 4.0" || { echo "asked again"; exit 1; }'
expect 1 'asked again' "it is for another Python" "$fetch" "$root/python"

finish

#!/usr/bin/env bash
# check_kernel_symbols accepts a file with its table alone, and rejects an inline function that was
# not inlined, an inline variable, and a second function.
# usage: check_kernel_symbols_test.sh CHECK
set -euo pipefail
check=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# compile NAME CODE: an object of avx2.cpp with that code beside the table.
compile() {
  mkdir -p "$dir/$1"
  {
    printf 'namespace cmm::gemm { struct Kernels { int isa; };\n'
    printf '%s\n' "$2"
    printf 'namespace { Kernels table; int twice(int x) { return 2 * x; } }\n'
    printf 'const Kernels& avx2_kernels() { table.isa = twice(table.isa); return table; } }\n'
  } >"$dir/$1/avx2.cpp"
  "${CXX:-c++}" -std=c++17 -O0 -c "$dir/$1/avx2.cpp" -o "$dir/$1/avx2.cpp.o"
}
compile clean ''
compile inline_function 'inline int shared(int x) { return x + 1; } static int (*user)(int) = shared;
                         int (*const volatile* keep())(int); namespace { int use = user(1); }'
compile inline_variable 'inline int shared = 3; namespace { int* use = &shared; }'
compile function 'int other() { return 1; }'

"$check" "$dir/clean/avx2.cpp.o"
for bad in inline_function inline_variable function; do
  if "$check" "$dir/$bad/avx2.cpp.o"; then
    echo "accepted $bad"
    exit 1
  fi
done

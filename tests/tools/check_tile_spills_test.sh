#!/usr/bin/env bash
# check_tile_spills accepts six clean functions, and rejects spills and a missing function.
# usage: check_tile_spills_test.sh CHECK
set -euo pipefail
check=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# assemble NAME BODY ROWS...: an object with a tile function of each of ROWS; the last has BODY.
assemble() {
  local name=$1 body=$2 rows
  shift 2
  for rows in "$@"; do
    printf 'fma_tile_%s:\n vaddps %%zmm1,%%zmm2,%%zmm3\n' "$rows"
  done >"$dir/$name.s"
  printf '%s\n ret\n' "$body" >>"$dir/$name.s"
  as -o "$dir/$name.o" "$dir/$name.s"
}
assemble clean 'vmovups 64(%rbp),%zmm1' 1 2 3 4 5 6
assemble spill 'vmovups %zmm1,64(%rsp)' 1 2 3 4 5 6
assemble framed_spill 'vmovups %zmm1,-64(%rbp)' 1 2 3 4 5 6
assemble missing '' 1 2 3 4 5

"$check" "$dir/clean.o"
for bad in spill framed_spill missing; do
  if "$check" "$dir/$bad.o"; then
    echo "accepted $bad"
    exit 1
  fi
done

#!/usr/bin/env bash
# Every benchmark program measures a tiny problem, and its figures reach the tables.
# usage: smoke_test.sh PROGRAMS   (the folder of the built benchmark programs)
set -euo pipefail
programs=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
  echo "WRONG: $1" >&2
  exit 1
}
measure() {
  local program=$1
  shift
  "$programs/$program" --json "$out/$program.json" "$@" >"$out/$program.log" ||
    { cat "$out/$program.log" >&2; fail "$program $*"; }
}

measure bench_peak --seconds 0.01 --read-mib 4
measure bench_gemm --quick --dtype f32 --m 3 40 --k 64 --n 96 --cold-mib 1
measure bench_gemm_sweep --dtype f32 --m 3 40 --shape 64x96 --threads 1 2 --rounds 2 --cold-mib 1
measure bench_fused --dtype f32 --ranks 1 2 --cores 2 --m 3 40 --k 64 --n 96 --rounds 2 --cold-mib 1
measure bench_fused --dtype bf16 --ranks 3 --algorithm ring --m 5 --k 64 --n 96 --rounds 2
measure bench_wait --ranks 2
if [ -x "$programs/bench_mpi" ] && command -v mpirun >/dev/null; then
  flags=()
  ! mpirun --version | grep -q 'Open MPI' || flags=(--allow-run-as-root --oversubscribe --bind-to none)
  tiny=(--dtype f32 --m 3 40 --k 64 --n 96 --rounds 2 --cold-mib 1)
  mpirun "${flags[@]}" -n 2 "$programs/bench_mpi" "${tiny[@]}" --json "$out/bench_mpi_2.json" >"$out/mpi.log" ||
    { cat "$out/mpi.log" >&2; fail "bench_mpi"; }
  # As on two hosts: the tables need no network.
  sed 's/"link": "memory"/"link": "1gbit"/' "$out/bench_mpi_2.json" >"$out/bench_hosts_1gbit_2x1.json"
fi

! grep -rq 'WRONG' "$out"/*.log || fail "an engine's product differs from ours"
"$programs/bench_table" "$out" >"$out/tables.md"
for expected in '### The machine' '### Our kernels' '### The local product' '### The fused operation' \
  '\*\*f32, y \[64, 96\], 2 threads\*\*' '| bf16 | 3 | 1 ' '### Small gathers' '| processes *| 2 '; do
  grep -q -- "$expected" "$out/tables.md" || { cat "$out/tables.md" >&2; fail "no $expected"; }
done

if [ -e "$out/bench_mpi_2.json" ]; then
  grep -q '### The fused operation, ranks as processes' "$out/tables.md" || fail "no table of processes"
  grep -q '| 1gbit | 1 ' "$out/tables.md" || fail "no table of hosts"
fi

! "$programs/bench_gemm_sweep" --shape 64 >"$out/log" 2>&1 || fail "accepted a shape without n"
grep -q 'KxN' "$out/log" || fail "a shape without n: $(cat "$out/log")"
! "$programs/bench_table" "$out/none" extra >"$out/log" 2>&1 || fail "bench_table took two folders"
echo "all programs measured"

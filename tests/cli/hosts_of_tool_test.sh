#!/usr/bin/env bash
# usage: hosts_of_tool_test.sh TOOLS_HOSTS CMM
# The tool on two hosts of one rank and of two has the output of threads of one process, by every
# algorithm. All hosts have one name, which must not make one host of them.
set -euo pipefail
hosts=$1 cmm=$2
hash_of() { sed -n 's/.*"output_hash": "\(.*\)".*/\1/p'; }

problem=(run --m 67 --k 101 --n 127 --engine own --repeats 2 --check --json)
wanted=$("$cmm" "${problem[@]}" | hash_of)
[ -n "$wanted" ]
# check PER_HOST ALGORITHM
check() {
  local shown code=0 part got
  shown=$("$hosts" run --hosts 2 --ranks-per-host "$1" --same-name --strict -- \
    "$cmm" "${problem[@]}" --algorithm "$2") || code=$?
  [ $code != 77 ] || exit 77
  [ $code = 0 ] || { echo "2 x $1, $2: exit code $code"; exit 1; }
  for part in '"transport": "MPI"' '"hosts": 2' "\"ranks\": $((2 * $1))" '"correct": true'; do
    grep -q "$part" <<<"$shown" || { echo "2 x $1, $2: no $part in:"; echo "$shown"; exit 1; }
  done
  got=$(hash_of <<<"$shown")
  [ "$got" = "$wanted" ] || { echo "2 x $1, $2: output_hash $got, threads have $wanted"; exit 1; }
}
for algorithm in auto direct ring bidirectional recursive_doubling hierarchical; do
  for per_host in 1 2; do check $per_host $algorithm; done
done

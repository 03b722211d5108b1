#!/usr/bin/env bash
# usage: hosts_of_tool_test.sh TOOLS_HOSTS CMM
# The tool on two hosts of two ranks has the output of threads of one process.
set -euo pipefail
hosts=$1 cmm=$2
hash_of() { sed -n 's/.*"output_hash": "\(.*\)".*/\1/p'; }

problem=(run --m 67 --k 101 --n 127 --engine own --repeats 2 --check --json)
wanted=$("$cmm" "${problem[@]}" | hash_of)
[ -n "$wanted" ]
for algorithm in auto ring bidirectional recursive_doubling; do
  code=0
  shown=$("$hosts" run --hosts 2 --ranks-per-host 2 -- "$cmm" "${problem[@]}" --algorithm $algorithm) || code=$?
  [ $code != 77 ] || exit 77
  [ $code = 0 ] || { echo "$algorithm: exit code $code"; exit 1; }
  for part in '"transport": "MPI"' '"hosts": 2' '"ranks": 4' '"correct": true'; do
    grep -q "$part" <<<"$shown" || { echo "$algorithm: no $part in:"; echo "$shown"; exit 1; }
  done
  got=$(hash_of <<<"$shown")
  [ "$got" = "$wanted" ] || { echo "$algorithm: output_hash $got, threads have $wanted"; exit 1; }
done

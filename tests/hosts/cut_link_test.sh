#!/usr/bin/env bash
# A host is cut off while its ranks are in a call: every rank's call ends, soon after its deadline
# of two seconds, with a rank of the other host at fault, and nothing stays.
# usage: cut_link_test.sh HOSTS GATHER_UNTIL_ERROR   Exit code 77 where there can be no hosts.
set -euo pipefail
hosts=$1 program=$2
# all_there NAME NUM_RANKS
all_there() { [ "$(find "$folder" -name "$1.*" | wc -l)" -eq "$2" ]; }
# cut_in_mid_call RANKS_PER_HOST, inside of the namespaces: cuts when all ranks are calling.
cut_in_mid_call() {
  "$hosts" start --ranks-per-host "$1" -- "$program" "$folder" &
  local job=$!
  until all_there calling $((2 * $1)); do
    kill -0 $job 2>/dev/null || { echo "WRONG: the ranks ended before they were cut off"; return 1; }
    sleep 0.02
  done
  "$hosts" cut 1
  # That its ranks end without MPI_Finalize is an error to mpirun.
  wait $job || true
}
if [ "${3:-}" = inside ]; then
  folder=$4
  cut_in_mid_call "$5"
  exit
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong=0
grace=10 # seconds: machines that run tests are busy

for per_host in 1 2; do
  rm -f "$folder"/*
  status=0
  "$hosts" with --rate 1gbit --strict -- "$0" "$hosts" "$program" inside "$folder" $per_host >"$folder/log" 2>&1 || status=$?
  [ $status -ne 77 ] || { cat "$folder/log"; exit 77; }
  [ $status -eq 0 ] || { echo "WRONG: exit code $status"; cat "$folder/log"; wrong=1; }
  all_there error $((2 * per_host)) || { echo "WRONG: a rank did not return"; wrong=1; }
  for note in "$folder"/error.*; do
    [ -e "$note" ] || break
    rank=${note##*.}
    read -r seconds code culprit text <"$note"
    echo "rank $rank after $seconds s: $code, rank $culprit: $text"
    awk -v s="$seconds" -v limit=$((2 + grace)) 'BEGIN { exit s > limit }' ||
      { echo "WRONG: too late"; wrong=1; }
    [ "$culprit" -ge 0 ] && [ $((culprit / per_host)) -ne $((rank / per_host)) ] ||
      { echo "WRONG: no rank of the other host is at fault"; wrong=1; }
  done
done
exit $wrong

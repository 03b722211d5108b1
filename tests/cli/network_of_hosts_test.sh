#!/usr/bin/env bash
# usage: network_of_hosts_test.sh TOOLS_HOSTS CMM
# `cmm check --network` measures links that are shaped to a known rate, and what it says can be given
# to other commands as it is.
set -euo pipefail
hosts=$1 cmm=$2
"${MPIRUN:-mpirun}" --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE' || {
  echo "skipped: no Open MPI; MPICH with UCX over TCP fills about half of a shaped link, no steady part"
  exit 77
}

# measure RATE NUM_HOSTS RANKS_PER_HOST
measure() {
  local code=0
  shown=$("$hosts" run --hosts "$2" --ranks-per-host "$3" --rate "$1" --strict -- \
    "$cmm" check --network --json) || code=$?
  [ $code != 77 ] || exit 77
  [ $code = 0 ] || { echo "$1 on $2 hosts: exit code $code"; exit 1; }
}
fail() {
  echo "$1 in:"
  echo "$shown"
  exit 1
}
flag() { sed -n "s/.*\"flags\":.* *--link-$1 \([0-9.e+-]*\).*/\1/p" <<<"$shown"; }

within() { awk -v low="$1" -v high="$2" -v value="$3" 'BEGIN { exit !(value > low && value < high) }'; }

# TCP leaves about 0.95 of the rate. Cores that are busy with other work leave less: then once more.
low_share=0.75 high_share=1.08
measure_rate() {
  local gbit=$1 attempt measured
  for attempt in 1 2 3; do
    measure "${gbit}gbit" 2 "$2"
    measured=$(flag gbit)
    within 0 "$(awk "BEGIN { print $gbit * $high_share }")" "$measured" ||
      fail "a link of $gbit Gbit/s measured as '$measured'"
    within 1 50000 "$(flag us)" || fail "a latency of '$(flag us)' us"
    ! within "$(awk "BEGIN { print $gbit * $low_share }")" 1000 "$measured" || return 0
  done
  fail "a link of $gbit Gbit/s measured as '$measured'"
}

measure_rate 0.5 2
[ "$(grep -c '"from"' <<<"$shown")" = 2 ] || fail "not one link each way"
for part in '"hosts": 2' '"ranks": 4' '"algorithm": "hierarchical"' '"host1"'; do
  grep -q "$part" <<<"$shown" || fail "no $part"
done
measure_rate 1 1

# One rank each on an odd number of hosts: in every round one has no partner.
measure 500mbit 3 1
[ "$(grep -c '"from"' <<<"$shown")" = 6 ] || fail "not every two hosts"
"$cmm" plan --ranks 6 --on-hosts 3 --link-gbit "$(flag gbit)" --link-us "$(flag us)" >/dev/null

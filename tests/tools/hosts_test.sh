#!/usr/bin/env bash
# tools/hosts: its hosts are joined, can be cut off, and leave nothing behind.
# usage: hosts_test.sh PATH_OF_HOSTS   Exit code 77, with a reason, where this machine has no namespaces.
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"
hosts=$1

status=0
reason=$("$hosts" with -- true 2>&1) || status=$?
[ $status -ne 77 ] || { echo "$reason"; exit 77; }

# As expect, with this machine's PATH.
says() {
  local wanted_status=$1 wanted=$2 what=$3 got=0 output
  shift 3
  output=$("$@" 2>&1 </dev/null) || got=$?
  cases=$((cases + 1))
  [ $got -eq "$wanted_status" ] && [[ $output == *"$wanted"* ]] || {
    echo "WRONG: $what: exit code $got (wanted $wanted_status), wanted '$wanted' in: $output"
    wrong=$((wrong + 1))
  }
}

says 2 usage "no verb" "$hosts"
says 2 usage "no command" "$hosts" with --hosts 2 --
says 2 usage "no hosts" "$hosts" with --hosts 0 -- true
says 5 '' "the command's exit code" "$hosts" with -- bash -c 'exit 5'
says 0 host2 "a host's name" "$hosts" with --hosts 3 -- "$hosts" on 2 hostname
says 0 "$(hostname)" "the machine's name" "$hosts" with --same-name -- "$hosts" on 1 hostname
says 0 'qdisc tbf' "a shaped link" "$hosts" with --rate 1gbit -- "$hosts" on 1 ip link show data

# Nobody listens: a host that is reached refuses at once, one that is cut off says nothing.
reach="bash -c ': <>/dev/tcp/10.77.0.2/9'"
says 1 'Connection refused' "joined hosts" "$hosts" with -- "$hosts" on 0 bash -c "timeout 20 $reach"
says 124 '' "a host that is cut off" \
  "$hosts" with -- bash -c "'$hosts' cut 1; '$hosts' on 0 timeout 0.3 $reach"
says 1 'Connection refused' "a mended link" \
  "$hosts" with -- bash -c "'$hosts' cut 1; '$hosts' mend 1; '$hosts' on 0 bash -c \"timeout 20 $reach\""

stay="'$hosts' on 1 bash -c 'sleep 1000 & touch /dev/shm/stays'"
says 0 'left behind on host 1: process' "a process that stays is told" "$hosts" with -- bash -c "$stay"
says 1 '/dev/shm/stays' "or is an error, as is a file" "$hosts" with --strict -- bash -c "$stay"

# Whether a process runs `sleep $1`.
sleeps() {
  local process
  for process in /proc/[0-9]*/cmdline; do
    [ "$({ tr '\0' ' ' <"$process"; } 2>/dev/null)" != "sleep $1 " ] || return 0
  done
  return 1
}

# However the script ends, what it started ends with it.
for signal in KILL TERM INT; do
  mark=1000.$$$RANDOM
  # Job control off: a background command would ignore SIGINT.
  (set -m; exec "$hosts" with -- "$hosts" on 1 sleep $mark) &
  script=$!
  until sleeps $mark; do sleep 0.05; done
  kill -$signal $script
  wait $script 2>/dev/null || true
  for ((tries = 0; tries < 100; ++tries)); do
    sleeps $mark || break
    sleep 0.05
  done
  holds "nothing is left after SIG$signal" test $tries -lt 100
done

machine
for command in realpath bash id; do ln -sf "$(type -P $command)" "$root/bin/$command"; done
expect 77 'skipped: no ip' "a machine without iproute2" "$hosts" with -- true

if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  says 0 host1 "mpirun reaches the hosts" "$hosts" run --strict -- hostname
fi
finish

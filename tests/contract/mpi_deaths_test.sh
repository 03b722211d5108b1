#!/usr/bin/env bash
# mpi_deaths_test.sh contract_mpi_victim WORD...: a rank of MPI is killed, or exits, at several points
# of a call and before its mesh is made. WORD...: the command that starts ranks, up to their number.
# The whole job must end at once, with a code other than 0, and leave nothing: no process, nothing of
# ours in /dev/shm, no socket. MPICH's mpiexec ends the job too where a rank exits with 0 before
# MPI_Finalize, but then may report that 0.
set -euo pipefail
victim=$1
shift
case $("$1" --version 2>&1) in
  *HYDRA*) zero_after=exit ;;
  *) zero_after=nothing ;;
esac
limit_s=30 # a deadline of the calls would end them after 60

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
complain() {
  echo "$*" >&2
  failures=$((failures + 1))
}

# gone COMMAND...: true once it prints nothing; false where it still does after 5 s.
gone() {
  local end=$((SECONDS + 5))
  while [ -n "$("$@")" ]; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.05
  done
}
# Of this job: its scratch folder is an argument of each rank. Not of grep, which would find itself.
processes() { grep -lsF -f - /proc/[0-9]*/cmdline <<<"$scratch" || true; }
# Sockets that were there when the job ended. Others come and go with other jobs.
sockets() { grep -o '@cmm-mpi-.*' /proc/net/unix | sort | comm -12 - "$scratch/sockets" || true; }

for hosts in one-host own-hosts; do
  for fault in kill exit; do
    for point in -1 0 1 3 6; do
      what="$fault at point $point, $hosts"
      code=0
      begin=$SECONDS
      timeout -k 5 "$limit_s" "$@" 3 "$victim" "$fault" "$point" "$hosts" "$scratch" \
        >"$scratch/out" 2>&1 </dev/null || code=$?
      { grep -o '@cmm-mpi-.*' /proc/net/unix || true; } | sort >"$scratch/sockets"
      echo "$what: exit code $code after $((SECONDS - begin)) s"
      case $code in
        0) [ "$fault" = "$zero_after" ] || complain "$what: the job says that all went well" ;;
        124 | 137) [ $((SECONDS - begin)) -lt "$limit_s" ] || complain "$what: the job did not end" ;;
      esac
      gone processes || complain "$what: processes are left: $(processes)"
      gone sockets || complain "$what: sockets are left: $(sockets)"
      ! ls /dev/shm | grep cmm || complain "$what: something of ours is left in /dev/shm"
      [ "$failures" -eq 0 ] || { cat "$scratch/out" >&2; exit 1; }
    done
  done
done

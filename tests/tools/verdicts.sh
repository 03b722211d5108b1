# For the tests of a check script: builds a small tree and compares the script's verdict on it.
# Sourced with the script's path as $1; the test calls the functions below, then `finish`.
set -euo pipefail
check=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cases=0
wrong=0

# tree FILE LINE...: one more file of the tree, with these lines.
tree() {
  local file=$root/$1
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$@" >"$file"
}

# verdict WANTED WHAT: runs the check; WANTED is `good`, or text that its list of offences must
# hold. The tree is empty again afterwards.
verdict() {
  local output status=0
  output=$("$check" "$root" 2>&1) || status=$?
  cases=$((cases + 1))
  if [ "$1" = good ]; then
    [ $status -eq 0 ] && [ -z "$output" ]
  else
    [ $status -eq 1 ] && grep -qF -- "$1" <<<"$output"
  fi || {
    echo "WRONG: $2: exit code $status, said: ${output:-nothing}; wanted: $1"
    wrong=$((wrong + 1))
  }
  find "$root" -mindepth 1 -delete
}

finish() {
  echo "$cases verdicts, $wrong wrong"
  [ $cases -gt 0 ] && [ $wrong -eq 0 ]
}

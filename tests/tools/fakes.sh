# For the tests of scripts that call the world outside: a folder that is the whole PATH, with the
# machine's basic commands and the fakes that a case puts beside them.
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cases=0
wrong=0

# machine: a PATH with basic commands only; whatever the last case faked is gone.
machine() {
  rm -rf "$root"/*
  mkdir -p "$root/bin"
  local command
  for command in bash cat cmake env grep mkdir mktemp mv rm sed sha256sum tail true; do
    ln -s "$(type -P $command)" "$root/bin/$command"
  done
}

# fake COMMAND BODY: a shell script of that name; it may use $root.
fake() {
  printf '#!%s\nroot=%s\n%s\n' "$(command -v bash)" "$root" "$2" >"$root/bin/$1"
  chmod +x "$root/bin/$1"
}

# expect STATUS TEXT WHAT COMMAND...: the command's exit code, and a text that its output holds.
expect() {
  local status=0 output wanted=$1 text=$2 what=$3
  shift 3
  output=$(PATH=$root/bin "$@" 2>&1 </dev/null) || status=$?
  cases=$((cases + 1))
  [ $status -eq "$wanted" ] && [[ $output == *"$text"* ]] || {
    echo "WRONG: $what: exit code $status (wanted $wanted), wanted '$text' in: $output"
    wrong=$((wrong + 1))
  }
}

# holds WHAT CONDITION...
holds() {
  local what=$1
  shift
  cases=$((cases + 1))
  "$@" || { echo "WRONG: $what"; wrong=$((wrong + 1)); }
}

finish() {
  echo "$cases expectations, $wrong wrong"
  [ $cases -gt 0 ] && [ $wrong -eq 0 ]
}

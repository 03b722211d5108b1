#!/usr/bin/env bash
# usage: example_pages_test.sh CMM FOLDER
# Runs every command in FOLDER/README.md and compares the page it writes with the one in FOLDER.
set -euo pipefail
cmm=$1 folder=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
num_pages=0
while read -r _ _ words; do
  # shellcheck disable=SC2086  # words of a command line
  "$cmm" $words >/dev/null
  page=${words##*--html }
  cmp "$page" "$folder/$page" || { echo "FAILED: make $folder/$page again by: cmm $words"; exit 1; }
  [ "$(wc -c <"$page")" -lt 60000 ] || { echo "FAILED: $page is larger than 60 KB"; exit 1; }
  num_pages=$((num_pages + 1))
done < <(grep -E '^    \$ cmm ' "$folder/README.md")
committed=$(find "$folder" -name '*.html' | wc -l)
[ "$num_pages" -gt 0 ] && [ "$num_pages" = "$committed" ] ||
  { echo "FAILED: $num_pages commands for $committed pages in $folder"; exit 1; }
echo "$num_pages pages, each as committed"

#!/usr/bin/env bash
# The .npy file of tools/make_matrix: header, size, and the same bytes for the same seed only.
# usage: make_matrix_test.sh PATH_OF_MAKE_MATRIX
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$1" a.npy 3 5 1
"$1" same.npy 3 5 1
"$1" other.npy 3 5 2
[ "$(stat -c %s a.npy)" -eq $((128 + 3 * 5 * 4)) ]
[ "$(head -c 6 a.npy | tail -c 5)" = NUMPY ]
head -n 1 a.npy | grep -qaF "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }"
cmp a.npy same.npy
! cmp -s a.npy other.npy
! "$1" "$work/nowhere/a.npy" 3 5 1 2>error
grep -q 'could not write' error

#!/usr/bin/env bash
# tools/check_repository must find long files, paths of one machine and unfinished work.
. "$(dirname "${BASH_SOURCE[0]}")/verdicts.sh"

lines() { seq "$1" | sed 's|^|// |'; }
unfinished=TO
unfinished+=DO
somewhere=/ho
somewhere+=me/somebody/project

tree src/base/a.cpp "$(lines 500)"
tree docs/a.md "$(lines 900)" 'a path like build/work/x or https://example.org/home/x'
tree build/src/b.cpp "// $unfinished"
verdict good "a clean tree"

tree src/base/a.cpp "$(lines 501)"
verdict 'src/base/a.cpp:501: longer than 500 lines' "long source file"
tree tools/setup "$(lines 501)"
verdict 'tools/setup:501' "long script"
tree README.md 'first' "built in $somewhere"
verdict 'README.md:2: absolute path' "path of a machine"
tree dev "cd $somewhere"
verdict 'dev:1: absolute path' "path of a machine in the script"
tree pyproject.toml "path = \"$somewhere\""
verdict 'pyproject.toml:1: absolute path' "path of a machine in another kind of file"
tree tests/a.cpp 'int x;' "int y;  // $unfinished: more"
verdict 'tests/a.cpp:2: unfinished work' "unfinished work"

finish

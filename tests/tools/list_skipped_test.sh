#!/usr/bin/env bash
# tools/list_skipped on the report of a program with two skipped cases.
# usage: list_skipped_test.sh PATH_OF_LIST_SKIPPED
. "$(dirname "${BASH_SOURCE[0]}")/fakes.sh"

machine
ln -s "$(command -v awk)" "$root/bin/awk"
cat >"$root/a.xml" <<'END'
<testsuites tests="3" failures="0" disabled="0" errors="0" time="0." name="AllTests">
  <testsuite name="Kernels" tests="3" failures="0" skipped="2">
    <testcase name="Runs" status="run" result="completed" classname="Kernels" />
    <testcase name="Avx2" status="run" result="skipped" classname="Kernels">
      <skipped message="src/a_test.cpp:2&#x0A;no avx2 here&#x0A;" />
    </testcase>
    <testcase name="Avx512/0" status="run" result="skipped" classname="Kernels">
      <skipped message="src/a_test.cpp:9&#x0A;no avx512 here&#x0A;" />
    </testcase>
  </testsuite>
</testsuites>
END
expect 0 '3 test cases ran, 2 of them skipped themselves' "the counts" "$1" "$root"
expect 0 'skipped: no avx512 here' "the reason" "$1" "$root"
expect 0 '    Kernels.Avx512/0' "the name" "$1" "$root"
mkdir "$root/empty"
expect 0 '' "no report" "$1" "$root/empty"
finish

#!/usr/bin/env bash
# tools/list_skipped on the reports of a GoogleTest program and of pytest, with skipped cases.
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
printf '%s' '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite ' \
  'name="pytest" errors="0" failures="0" skipped="1" tests="2"><testcase classname="test_a" ' \
  'name="test_one" time="0.1" /><testcase classname="test_a" name="test_two" time="0.1">' \
  '<skipped type="pytest.skip" message="no network here">test_a.py:9: no network here</skipped>' \
  '</testcase></testsuite></testsuites>' >"$root/b.xml"
expect 0 '5 test cases ran, 3 of them skipped themselves' "both counts" "$1" "$root"
expect 0 'skipped: no network here' "the reason" "$1" "$root"
expect 0 '    test_a.test_two' "the name" "$1" "$root"
mkdir "$root/empty"
expect 0 '' "no report" "$1" "$root/empty"
finish

#!/usr/bin/env bash
# tools/check_docs must find an example that drifted and a link to nowhere.
. "$(dirname "${BASH_SOURCE[0]}")/verdicts.sh"

example() {
  tree examples/01_first_product.cpp 'int main() {' '  // [README]' "$@" '  // [README]' '}'
}
readme() { tree README.md 'Text.' '```cpp' '#include <cmm/cmm.hpp>' "$@" '```' 'More text.'; }

example '  int x;' '    x = 1;'
readme 'int x;' '  x = 1;'
verdict good "the same lines"

example '  int x;' '    x = 2;'
readme 'int x;' '  x = 1;'
verdict 'README.md: its C++ example differs' "another line"

example '  int x;'
readme 'int x;' 'int y;'
verdict 'README.md: its C++ example differs' "a line too many"

tree examples/01_first_product.cpp 'int main() {}'
tree README.md 'No example.'
verdict 'README.md: its C++ example differs' "no example at all"

example '  int x;'
readme 'int x;' '```' 'See [there](docs/there.md), [here](https://example.org/x), [this](#part).' '```'
verdict 'README.md: links to docs/there.md, which is not there' "a link to nowhere"

example '  int x;'
readme 'int x;'
tree docs/a.md '[up](../README.md)' '[beside](b.md)' '[c](c.md)'
tree docs/b.md 'b'
verdict 'docs/a.md: links to c.md, which is not there' "a link to nowhere from docs/"

finish

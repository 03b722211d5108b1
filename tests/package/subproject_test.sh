#!/usr/bin/env bash
# Builds a program whose project takes this one in with add_subdirectory, as FetchContent would,
# as a shared library, and installs that library from there.
# usage: subproject_test.sh SOURCE_DIR BUILD_DIR CXX
set -euo pipefail
source_dir=$1 build_dir=$2 cxx=$3
work=$build_dir/package_subproject
rm -rf "$work/installed"
mkdir -p "$work"
cd "$work"

# No build type: the library then compiles fastest, and such a project must be served too.
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake -S "$source_dir/tests/package/subproject" -B tree -G Ninja \
  -DCMAKE_CXX_COMPILER="$cxx" -DBUILD_SHARED_LIBS=ON -DCMM_INSTALL=ON \
  -DCMM_SOURCE_DIR="$source_dir" >tree.log
cmake --build tree >>tree.log || { tail -n 50 tree.log; exit 1; }
tree/consumer

# Neither tests nor tool nor benchmarks of ours in someone else's build.
! ninja -C tree -t targets all | grep -E '^(cmm_test|tests_|cmm_tool|gtest)' ||
  { echo "WRONG: the targets above do not belong in a subproject"; exit 1; }

cmake --install tree --prefix "$work/installed" >install.log
pc=$(find "$work/installed" -name cmm.pc)
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs cmm)
# shellcheck disable=SC2086  # the flags are words
"$cxx" -std=c++20 "$source_dir/examples/01_first_product.cpp" $flags -o by_pkg_config
LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")") ./by_pkg_config

#!/usr/bin/env bash
# Installs the built library, moves the installed tree, and builds and runs a program against it
# through find_package(cmm) and through pkg-config.
# usage: installed_test.sh SOURCE_DIR BUILD_DIR CXX
set -euo pipefail
source_dir=$1 build_dir=$2 cxx=$3
work=$build_dir/package_installed
rm -rf "$work"
mkdir -p "$work"
cd "$work"

cmake --install "$build_dir" --prefix "$work/first" >install.log
mv first moved

! grep -rIlF "$build_dir" moved || { echo "WRONG: the files above name the build tree"; exit 1; }

cmake -S "$source_dir/tests/package/find_package" -B found -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_CXX_COMPILER="$cxx" >found.log
cmake --build found >>found.log || { cat found.log; exit 1; }
found/consumer

# The optional component. Not run: not every MPI starts without its mpiexec.
if [ -e moved/include/cmm/mpi.hpp ]; then
  cmake -S "$source_dir/tests/package/find_mpi" -B found_mpi -G Ninja \
    -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_CXX_COMPILER="$cxx" >found_mpi.log
  cmake --build found_mpi >>found_mpi.log || { cat found_mpi.log; exit 1; }
fi

pc=$(find "$work/moved" -name cmm.pc)
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --static --cflags --libs cmm)
[ "$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --modversion cmm)" = \
  "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' moved/lib*/cmake/cmm/cmmConfigVersion.cmake)" ]
# shellcheck disable=SC2086  # the flags are words
"$cxx" -std=c++20 "$source_dir/examples/01_first_product.cpp" $flags -o by_pkg_config
./by_pkg_config

if [ -e moved/bin/cmm ]; then moved/bin/cmm --help >/dev/null; fi

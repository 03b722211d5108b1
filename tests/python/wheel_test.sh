#!/usr/bin/env bash
# Builds a wheel, installs it into a virtual environment that has numpy and ml_dtypes besides, and
# tries it there, README.md's first Python example among it.
# usage: wheel_test.sh SOURCE_DIR WORK_DIR PYTHON [COMPILER_LAUNCHER]
# PYTHON has the packages of tools/fetch_python. WORK_DIR keeps the objects for the next time.
set -euo pipefail
source_dir=$1 work=$2 python=$3 launcher=${4:-}
mkdir -p "$work"
rm -rf "$work/dist" "$work/environment" "$work/elsewhere"
mkdir "$work/elsewhere"
wrong() { echo "WRONG: $1"; exit 1; }

# Nothing is fetched: the build runs with what PYTHON has. Without the optimisations of a release it
# compiles fastest, and the wheel has the same files.
"$python" -m pip wheel "$source_dir" --no-build-isolation --no-deps --no-index --quiet \
  --no-cache-dir --disable-pip-version-check --wheel-dir "$work/dist" \
  --config-settings build-dir="$work/build" \
  --config-settings cmake.define.CMAKE_CXX_COMPILER_LAUNCHER="$launcher" \
  --config-settings cmake.define.CMAKE_CXX_FLAGS_RELEASE= >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
wheel=$(echo "$work"/dist/collective_matmul-*.whl)
echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"

cmake -E tar tf "$wheel" >"$work/names"
for name in _core/__init__.pyi _core/tpu.pyi py.typed numpy/__init__.py jax/__init__.py \
  torch/__init__.py; do
  grep -qx "collective_matmul/$name" "$work/names" || wrong "the wheel has no $name"
done
! grep -vE '^collective_matmul(/|-[0-9.]+\.dist-info/)' "$work/names" ||
  wrong "the files above lie beside the package"
! grep -E '\.(a|h|hpp|cpp|cmake|pc)$' "$work/names" || wrong "the files above are of no use in it"

# A new environment with numpy and ml_dtypes alone: links to PYTHON's.
"$python" -m venv --without-pip "$work/environment"
site=$(echo "$work"/environment/lib/python3*/site-packages)
from=$("$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))')
for entry in "$from"/{numpy,ml_dtypes}*; do ln -s "$entry" "$site"; done
"$python" -m pip --python "$work/environment/bin/python" install --no-index --quiet \
  --disable-pip-version-check "$wheel"

cd "$work/elsewhere"
awk '/^```python$/ { inside = 1; next } /^```$/ && inside { exit } inside' \
  "$source_dir/README.md" >example.py
[ -s example.py ] || wrong "README.md has no Python example"
run() { env -u PYTHONPATH "$work/environment/bin/python" "$@"; }
run example.py
run "$source_dir/tests/python/installed_package.py" "$source_dir"
! readelf -d "$site"/collective_matmul/_core*.so | grep NEEDED |
  grep -vE '\[(libc|libm|libdl|libpthread|libgcc_s|libstdc\+\+|ld-linux[^.]*)\.so' ||
  wrong "the module needs the libraries above, which its user may lack"

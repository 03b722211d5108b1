"""What must hold of the installed package in an environment that has numpy and ml_dtypes alone.

usage: installed_package.py SOURCE_DIR   (run by wheel_test.sh)
"""

import importlib.metadata
import sys
from pathlib import Path

import collective_matmul

source = Path(sys.argv[1])
package = Path(collective_matmul.__file__).parent
assert Path(sys.prefix) in package.parents, package
assert not {"numpy", "jax", "torch"} & set(sys.modules), "imported with the package itself"

import collective_matmul.numpy as cmm  # noqa: E402
from collective_matmul import tpu  # noqa: E402

assert not {"jax", "torch"} & set(sys.modules), "imported with collective_matmul.numpy"

for optional, name in (("jax", "jax"), ("torch", "torch")):
    try:
        __import__(f"collective_matmul.{optional}")
    except ImportError as error:
        assert f"collective-matmul[{name}]" in str(error), error
    else:
        raise AssertionError(f"collective_matmul.{optional} was imported without {name}")

version = importlib.metadata.version("collective-matmul")
assert f"VERSION {version} " in (source / "CMakeLists.txt").read_text(), version

# What is embedded in the module: data on chips, the table of tile schedules, the timeline's page.
assert "v6e" in tpu.chips()
it = tpu.simulate(m=1024, k=5120, n=51200, timeline=True)
assert it.kernels["wavefront"].share_of_bound > 0.7 and "<script" in it.timeline.html()
assert tpu.verify(m=64, k=256, n=1024, devices=4, num_interleavings=1)
assert cmm.simulate(m=64, k=64, n=64, ranks=3).seconds > 0
print(f"collective-matmul {version} works as installed")

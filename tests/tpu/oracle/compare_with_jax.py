"""Runs the kernel of tpu-inference in JAX's TPU interpret mode and compares it with what our kernels
put out on the same operands.

usage: compare_with_jax.py DIRECTORY   (with the Python that tools/fetch_python makes, and its folder
`kernel` in PYTHONPATH)

DIRECTORY/cases.txt has a line for each case, written by tpu_oracle: its name, m, k, n, number of
devices, element type, bn, bk and whether y is transposed. In DIRECTORY/NAME/ lie x, y and the
results `reference` and `wavefront`, row-major, as they lie in memory. Exit code 1 where a bit
differs.
"""
import os
import sys
from pathlib import Path

directory = Path(sys.argv[1])
cases = [line.split() for line in (directory / "cases.txt").read_text().splitlines()]
num_devices = max(int(case[4]) for case in cases)

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={num_devices}"
# Interpret mode blocks threads of this pool, some for each device; with too few it hangs.
os.environ["PJRT_NPROC"] = str(4 * num_devices)

import jax
import ml_dtypes
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from tpu_inference.kernels.collectives.all_gather_matmul import all_gather_matmul

TYPES = {"bf16": ml_dtypes.bfloat16, "f32": np.float32}


def num_wrong(name, m, k, n, size, element, bn, bk, transposed):
    def matrix(file, rows, cols):
        return np.fromfile(directory / name / file, TYPES[element]).reshape(rows, cols)

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:size]), ("x",))
    x = matrix("x", m, k)
    y = matrix("y", n, k) if transposed else matrix("y", k, n)
    with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams()):
        right = np.asarray(
            all_gather_matmul(x, y, mesh, "x", bn=bn, bk=bk, rhs_transpose=transposed))
    same_bits = np.uint16 if element == "bf16" else np.uint32
    return [(file, int((matrix(file, m, n).view(same_bits) != right.view(same_bits)).sum()))
            for file in ("reference", "wavefront")]


wrong = False
for name, m, k, n, size, element, bn, bk, transposed in cases:
    for file, differ in num_wrong(name, int(m), int(k), int(n), int(size), element, int(bn),
                                  int(bk), transposed == "transposed"):
        verdict = "every bit the same" if differ == 0 else f"{differ} elements DIFFER"
        print(f"{name}: {file} and JAX: {verdict}", flush=True)
        wrong |= differ != 0
sys.exit(wrong)

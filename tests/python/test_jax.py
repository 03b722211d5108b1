"""The JAX function up to what is handed to XLA: no TPU, no libtpu, and nothing is computed.

A program for TPUs can be lowered anywhere. test_jax_aot.py compiles them, test_jax_cpu.py runs.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from collective_matmul import InvalidArgumentError, UnsupportedError, _core
from collective_matmul.jax import all_gather_matmul, all_gather_matmul_local

MESH = jax.make_mesh((8,), ("tp",), axis_types=(jax.sharding.AxisType.Auto,))
MESH_2D = jax.make_mesh((2, 4), ("dp", "tp"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def shape(*extents, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(extents, dtype)


def lowered(f, *operands) -> str:
    """StableHLO for TPUs."""
    return jax.jit(f).trace(*operands).lower(lowering_platforms=("tpu",)).as_text()


def custom_calls(text: str) -> list[str]:
    """Types of operands and results of each kernel call."""
    return re.findall(r"@tpu_custom_call\(.*: (\(.*\) -> .*?)(?: loc.*)?$", text, re.MULTILINE)


def on_v6e(x, y, mesh=MESH, axis_name="tp", **options):
    return all_gather_matmul(x, y, mesh, axis_name, chip="v6e", **options)


def test_a_call_is_one_custom_call_with_the_kernel_of_its_shape():
    text = lowered(on_v6e, shape(1024, 2048), shape(2048, 1024))
    problem = _core.tpu.Problem(mesh=[8], axis=0, m=1024, k=2048, n=[1024], dtype="bfloat16")
    call = _core.tpu.custom_call(problem, "v6e", _core.tpu.KernelOptions())
    assert call.config.replace('"', '\\22') in text
    assert f'kernel_name = "{call.name}"' in text
    [types] = custom_calls(text)
    assert types == (
        f"(tensor<{len(call.table)}xi32>, tensor<128x2048xbf16>, tensor<2048x128xbf16>)"
        " -> tensor<1024x128xbf16>"
    )


def test_shapes_of_results():
    def shapes(*args, **options):
        return jax.tree.map(
            lambda out: (out.shape, out.dtype.name),
            jax.eval_shape(lambda *a: all_gather_matmul(*a, MESH, "tp", **options), *args),
        )

    x, y, wide = shape(100, 48), shape(48, 80), shape(48, 160)
    assert shapes(x, y) == ((100, 80), "bfloat16")
    assert shapes(x, [y, wide]) == [((100, 80), "bfloat16"), ((100, 160), "bfloat16")]
    assert shapes(x, [y]) == [((100, 80), "bfloat16")]
    assert shapes(x, [y, y], swiglu=True) == ((100, 80), "bfloat16")
    assert shapes(x, y, return_gathered=True) == (((100, 80), "bfloat16"), ((100, 48), "bfloat16"))
    assert shapes(x, y, out_dtype="float32", return_gathered=True) == (
        ((100, 80), "float32"),
        ((100, 48), "bfloat16"),
    )
    assert shapes(shape(100, 48), shape(80, 48), rhs_transpose=True) == ((100, 80), "bfloat16")
    int8 = shape(100, 48, dtype=jnp.int8), shape(48, 80, dtype=jnp.int8)
    assert shapes(*int8) == ((100, 80), "int32")


def test_another_platform_is_refused():
    x, y = shape(64, 128), shape(128, 256)
    traced = jax.jit(lambda x, y: all_gather_matmul(x, y, MESH, "tp")).trace(x, y)
    with pytest.raises(UnsupportedError, match="cpu and tpu, not for cuda"):
        traced.lower(lowering_platforms=("cuda",))


def test_a_mesh_that_does_not_say_its_chip_needs_it_named():
    with pytest.raises(UnsupportedError, match="give chip=, of v4, v5e, v5p, v6e, 7x"):
        lowered(lambda x, y: all_gather_matmul(x, y, MESH, "tp"), shape(64, 128), shape(128, 256))

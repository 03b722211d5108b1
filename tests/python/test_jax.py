"""The JAX function up to what is handed to XLA: no TPU, no libtpu, and nothing is computed.

A program for TPUs can be lowered anywhere. test_jax_aot.py compiles them, test_jax_cpu.py runs.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import functools
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.sharding import PartitionSpec as P

import collective_matmul.jax
from collective_matmul import InvalidArgumentError, UnsupportedError, _core
from collective_matmul.jax import (
    _local,
    _plain,
    _tpu,
    all_gather_matmul,
    all_gather_matmul_local,
    get_cost_estimate,
    get_kernel_name,
    get_vmem_estimate_bytes,
    ring_mesh,
    validate_inputs,
    verify_kernel,
)
from collective_matmul.jax._config import make_config

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


@pytest.mark.parametrize("options, given", [
    ({}, "bf16"),
    ({"out_dtype": "float16"}, "f32"),
    ({"activation": "relu"}, "f32"),
    ({"activation": "none"}, "bf16"),
    ({"swiglu": True}, "f32"),
])
def test_a_kernel_returns_its_sums_where_they_are_not_the_result(options, given):
    ys = [shape(128, 1024)] * 2
    text = lowered(lambda x, *ys: on_v6e(x, list(ys), **options), shape(64, 128), *ys)
    [types] = custom_calls(text)
    assert types.endswith(f"-> (tensor<64x128x{given}>, tensor<64x128x{given}>)")


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


def values(*extents, seed=0, dtype=np.float32):
    """Small whole numbers: sums in f32 are exact, in whatever order."""
    return np.random.default_rng(seed).integers(-4, 5, extents).astype(dtype)


class Emulated:
    """A kernel's place taken by XLA's operations: rubbish where a kernel may leave any."""

    def __init__(self, name: str, rhs_transpose: bool) -> None:
        self.rhs_transpose = rhs_transpose

    def bind(self, *operands, results, config):
        table, x, *ys = operands
        assert table.ndim == 1 and len(results) >= len(ys)
        x = lax.all_gather(x, "tp", tiled=True)
        no_rows = jnp.all(x == 0, axis=1, keepdims=True)  # that are padding
        outs = []
        for y, (shape, dtype) in zip(ys, results):
            y = y.T if self.rhs_transpose else y
            rubbish = no_rows | jnp.all(y == 0, axis=0)[None, :]
            outs.append(jnp.where(rubbish, 77, jnp.float32(x) @ jnp.float32(y)).astype(dtype))
            assert outs[-1].shape == shape
        if len(results) > len(ys):
            outs.append(jnp.where(no_rows, 77, x))
        return outs


@pytest.mark.parametrize("rhs_transpose", [False, True])
@pytest.mark.parametrize("m_local, k, n_local", [(1, 5, 3), (13, 200, 72), (16, 128, 128)])
def test_operands_are_padded_and_results_cut(monkeypatch, m_local, k, n_local, rhs_transpose):
    emulated = functools.partial(Emulated, rhs_transpose=rhs_transpose)
    monkeypatch.setattr(_tpu, "_kernel_primitive", emulated)
    ranks = 8
    x, ys = values(ranks * m_local, k), [values(k, ranks * n_local, seed=i) for i in (1, 2)]
    config = make_config(
        MESH, "tp", 2, rhs_transpose=rhs_transpose, return_gathered=True, chip="v6e"
    )
    on_each = jax.shard_map(
        lambda x, *ys: _tpu._on_tpu(x, *ys, None, **config.primitive_params()),
        mesh=MESH,
        in_specs=(P("tp", None),) + (P("tp", None) if rhs_transpose else P(None, "tp"),) * 2,
        out_specs=[P(None, "tp"), P(None, "tp"), P(None, None)],
        check_vma=False,
    )
    outs = jax.jit(on_each)(x, *(y.T if rhs_transpose else y for y in ys))
    for out, expected in zip(outs, [x @ ys[0], x @ ys[1], x]):
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("options", [
    {"rhs_transpose": True},
    {"return_gathered": True},
    {"activation": ["silu", "none"]},
    {"activation": "gelu_tanh", "rhs_transpose": True},
    {"swiglu": True, "return_gathered": True},
    {"out_dtype": "float32"},
], ids=str)
def test_the_gradient_is_that_of_the_definition(options):
    config = make_config(MESH, "tp", 2, **options)
    x, *ys = values(16, 24), values(24, 32, seed=1), values(24, 32, seed=2)
    if config.rhs_transpose:
        ys = [y.T for y in ys]

    def both(x, *ys):
        outs, pull = jax.vjp(lambda x, *ys: _plain.results(config, x, ys), x, *ys)
        cotangents = tuple(jnp.sin(jnp.arange(1.0 * out.size)).reshape(out.shape) for out in outs)
        of_x, of_ys = _plain.gradients(config, x, ys, cotangents)
        return pull(cotangents), (of_x, *of_ys)

    split = P("tp", None) if config.rhs_transpose else P(None, "tp")
    specs = (P("tp", None), split, split)
    on_each = jax.shard_map(
        both, mesh=MESH, in_specs=specs, out_specs=(specs, specs), check_vma=False
    )
    for defined, ours in zip(*jax.jit(on_each)(x, *ys)):
        np.testing.assert_allclose(ours, defined, rtol=1e-5, atol=1e-4)


def test_each_device_knows_its_rank_and_its_group():
    mesh = ring_mesh(axis_name="tp", shape={"a": 2, "tp": 2, "b": 2})
    config = make_config(mesh, "tp", 1)
    all_axes = P(("a", "tp", "b"), None)
    places = jax.shard_map(
        lambda: _local.place(config)[None], mesh=mesh, in_specs=(), out_specs=all_axes
    )
    expected = [(tp, 2 * a + b) for a in range(2) for tp in range(2) for b in range(2)]
    np.testing.assert_array_equal(jax.jit(places)(), expected)


def test_forward_mode_is_refused():
    x, y = shape(64, 128), shape(128, 256)
    with pytest.raises(TypeError, match="forward-mode"):
        lowered(lambda x, y: jax.jvp(lambda x: on_v6e(x, y), (x,), (x,)), x, y)


def test_the_right_side_at_fault_is_named():
    x, y = shape(64, 128), shape(128, 256)
    with pytest.raises(InvalidArgumentError, match=r"right side 1: x is \[64, 128\], so k is 128"):
        on_v6e(x, [y, shape(64, 256)])
    with pytest.raises(InvalidArgumentError, match="right side 0: .*rhs_transpose=False takes y"):
        on_v6e(x, [y, y], rhs_transpose=True)


@pytest.mark.parametrize("options, message", [
    ({"activation": "tanh"}, "no activation 'tanh'; there are none, relu"),
    ({"activation": ["relu", "relu"]}, "2 activations are given for 1 right sides"),
    ({"swiglu": True}, "swiglu=True with 1 right sides .* it takes y="),
    ({"batch_axis": "tp"}, "batch_axis is 'tp'; it must be another axis .* are: none"),
    ({"batch_axis": "ep"}, "batch_axis is 'ep'"),
    ({"chip": "v8"}, "no chip 'v8'; there are v4, v5e, v5p, v6e, 7x"),
    ({"deadline_seconds": 0}, "deadline_seconds is 0.0; it must be above 0"),
    ({"out_dtype": "int32"}, "out_dtype is int32, of products of bfloat16; give a type of floats"),
    ({"mesh": None}, "mesh is None; it must be jax.sharding.Mesh or jax.sharding.AbstractMesh"),
    ({"axis_name": ("tp",)}, r"axis_name is \('tp',\); it must be a str"),
])
def test_options_that_are_wrong(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        all_gather_matmul(shape(64, 128), shape(128, 256), **{
            "mesh": MESH, "axis_name": "tp", **options
        })
    with pytest.raises(InvalidArgumentError, match="y is an empty list"):
        on_v6e(shape(64, 128), [])


def test_an_activation_of_whole_numbers_is_refused():
    x, y = shape(64, 128, dtype=jnp.int8), shape(128, 256, dtype=jnp.int8)
    with pytest.raises(InvalidArgumentError, match="an activation of products of int8"):
        on_v6e(x, y, activation="relu")


def test_a_gradient_in_eight_bits_is_refused():
    x, y = (shape(*of, dtype=jnp.float8_e4m3fn) for of in [(64, 128), (128, 256)])
    with pytest.raises(UnsupportedError, match="no gradient of products of float8_e4m3fn"):
        jax.eval_shape(jax.grad(lambda x, y: jnp.float32(on_v6e(x, y)).sum()), x, y)


def test_a_program_can_be_exported():
    exported = export.export(jax.jit(on_v6e), platforms=["tpu"])(
        shape(64, 128), shape(128, 256)
    )
    assert exported.nr_devices == 8
    assert len(custom_calls(exported.mlir_module())) == 1


def test_an_algorithm_of_another_platform_is_refused():
    with pytest.raises(UnsupportedError, match="'direct' is none of a TPU; there are auto, wave"):
        lowered(lambda x, y: on_v6e(x, y, algorithm="direct"), shape(64, 128), shape(128, 256))


def test_of_xlas_own_algorithm_there_is_no_kernel_to_tell_of():
    args = shape(64, 128), shape(128, 256), MESH, "tp"
    options = {"chip": "v6e", "algorithm": "sequential"}
    validate_inputs(*args, **options)
    for ask in (get_kernel_name, get_cost_estimate, get_vmem_estimate_bytes, verify_kernel):
        with pytest.raises(UnsupportedError, match="XLA's own gather and product: no kernel"):
            ask(*args, **options)
    with pytest.raises(InvalidArgumentError, match="both must have the same dtype"):
        validate_inputs(args[0], shape(128, 256, dtype=jnp.float32), MESH, "tp", **options)


def test_each_form_has_its_place():
    x, y = values(64, 128), values(128, 256)
    with pytest.raises(InvalidArgumentError, match="all_gather_matmul_local on the device's parts"):
        jax.shard_map(
            lambda x, y: on_v6e(x, y), mesh=MESH, in_specs=P(), out_specs=P(), check_vma=False
        )(x, y)
    with pytest.raises(InvalidArgumentError, match="outside of a shard_map, call all_gather"):
        all_gather_matmul_local(x, y, "tp")
    with pytest.raises(InvalidArgumentError, match="all axes of the mesh .'dp', 'tp'.; outside"):
        jax.jit(jax.shard_map(
            lambda x, y: all_gather_matmul_local(x, y, "tp", mesh=MESH_2D),
            mesh=MESH_2D, axis_names={"tp"}, in_specs=(P("tp", None), P(None, "tp")),
            out_specs=P(None, "tp"),
        ))(x, y)
    with pytest.raises(InvalidArgumentError, match="all axes of the mesh .'tp'.; outside"):
        all_gather_matmul_local(x, y, "tp", mesh=MESH)


def test_devices_that_are_no_tpus_keep_their_order():
    mesh = ring_mesh(axis_name="tp", shape={"dp": 2, "tp": 4})
    assert mesh.axis_names == ("dp", "tp")
    assert list(mesh.devices.flat) == jax.devices()
    with pytest.raises(InvalidArgumentError, match="must multiply to the number of devices"):
        ring_mesh(axis_name="tp", shape={"dp": 2, "tp": 2})


@pytest.mark.parametrize("name", collective_matmul.jax.__all__)
def test_public_things_have_a_docstring_and_types(name):
    thing = getattr(collective_matmul.jax, name)
    assert thing.__doc__
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        kinds = [it.annotation for it in signature.parameters.values()]
        assert signature.empty not in [*kinds, signature.return_annotation]

"""What the reference kernel gets wrong, tried on this one: the right answer, or a clear error.

The reference is `all_gather_matmul` of vllm-project/tpu-inference. Kernels are run on virtual
devices with data (verify_kernel); nothing here needs a TPU.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import ast
import inspect
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh

import collective_matmul
from collective_matmul import Error, InvalidArgumentError, UnsupportedError
from collective_matmul.jax import (
    _local,
    all_gather_matmul,
    get_cost_estimate,
    get_kernel_name,
    get_tuned_block_sizes,
    get_vmem_estimate_bytes,
    validate_inputs,
    verify_kernel,
)
from collective_matmul.jax._tpu import chip_of


def mesh_of(**sizes: int) -> AbstractMesh:
    return AbstractMesh(tuple(sizes.values()), tuple(sizes))


MESH = mesh_of(tp=8)
MIB = 1 << 20


def call(m, k, n, *, mesh=MESH, axis="tp", dtype=jnp.bfloat16, chip="v6e", **options):
    """Arguments for the functions that take those of a call: x, y, mesh, axis and options."""
    y = (n, k) if options.get("rhs_transpose") else (k, n)
    x = jax.ShapeDtypeStruct((m, k), dtype)
    return (x, jax.ShapeDtypeStruct(y, dtype), mesh, axis), {"chip": chip, **options}


def refusal(*extents, **options) -> str:
    args, kwargs = call(*extents, **options)
    with pytest.raises(Error) as caught:
        validate_inputs(*args, **kwargs)
    return str(caught.value)


def is_taken(*extents, **options) -> None:
    args, kwargs = call(*extents, **options)
    validate_inputs(*args, **kwargs)


def is_proved(*extents, **options) -> None:
    args, kwargs = call(*extents, **options)
    verification = verify_kernel(*args, **kwargs)
    assert verification.right and verification.proved, verification.text


def test_s1_without_block_sizes_and_without_a_tuned_entry():
    is_proved(64, 256, 1024)
    is_proved(64, 256, 1024, rhs_transpose=True)
    is_proved(128, 256, 2048, algorithm="reference")


def test_s2_columns_that_a_block_does_not_divide():
    text = refusal(1024, 5120, 51200, bn=1024)
    assert "bn is 1024" in text and "n/P = 6400" in text and "as 1280" in text
    is_proved(64, 256, 8 * 72)


def test_s3_k_that_a_block_does_not_divide():
    text = refusal(1024, 5120, 51200, bk=2048)
    assert "bk is 2048" in text and "k = 5120" in text
    is_proved(64, 200, 1024)


def test_s4_one_device():
    is_proved(40, 256, 128, mesh=mesh_of(tp=1), collective_id=None)
    assert "1 device" in refusal(128, 256, 128, mesh=mesh_of(tp=1), algorithm="reference")


def test_s5_the_memory_estimate_is_what_is_allocated():
    for m, n, k, mib in [(1024, 51200, 5120, 71.2), (8192, 51200, 5120, 87.5)]:
        args, kwargs = call(m, k, n, algorithm="reference")
        assert get_vmem_estimate_bytes(*args, **kwargs) / MIB == pytest.approx(mib, abs=0.051)


def test_s6_a_weight_that_does_not_fit():
    text = refusal(2048, 8192, 28672, mesh=mesh_of(tp=4), algorithm="reference")
    assert "bytes of VMEM" in text and "v6e has 134217728" in text
    args, kwargs = call(2048, 8192, 28672, mesh=mesh_of(tp=4))
    validate_inputs(*args, **kwargs)
    assert get_vmem_estimate_bytes(*args, **kwargs) <= 134217728


def test_s7_messages_have_values_in_them():
    text = refusal(1000, 5120, 51200, algorithm="reference")
    assert "m is 1000" in text and "128" in text and "{" not in text


def test_s8_messages_name_the_axis():
    text = refusal(1024, 5120, 51200, axis="ep")
    assert text == "axis_name is 'ep', but the mesh has the axes 'tp' of 8"


@pytest.mark.parametrize("extents", [(0, 256, 1024), (64, 0, 1024), (64, 256, 0)])
def test_s9_empty_operands(extents):
    assert "is 0" in refusal(*extents)


@pytest.mark.parametrize("bad", [{"bn": 0}, {"bn": -128}, {"bn": 100}, {"bk": 0}, {"bn": 12800}])
def test_s9_block_sizes_that_are_none(bad):
    [(name, value)] = bad.items()
    assert f"{name} is {value}" in refusal(1024, 5120, 51200, **bad)


def test_s9_columns_of_a_device_that_are_no_multiple_of_128():
    is_proved(64, 256, 1280)  # 160 columns on each


@pytest.mark.parametrize("m", [1, 7, 16, 100])
def test_s10_few_rows(m):
    is_proved(m, 256, 1024)


def test_s11_types():
    def dtype_of(dtype, **options):
        (x, y, mesh, axis), _ = call(64, 256, 1024, dtype=dtype)
        return jax.eval_shape(
            lambda x, y: all_gather_matmul(x, y, mesh, axis, chip="v6e", **options), x, y
        ).dtype

    assert dtype_of(jnp.int8) == jnp.int32
    assert dtype_of(jnp.bfloat16) == jnp.bfloat16
    assert dtype_of(jnp.float8_e4m3fn, out_dtype=jnp.float32) == jnp.float32
    is_proved(64, 256, 1024, dtype=jnp.int8)
    (x, _, mesh, axis), kwargs = call(64, 256, 1024)
    y = jax.ShapeDtypeStruct((256, 1024), jnp.int8)
    with pytest.raises(InvalidArgumentError, match="x is bfloat16 and y is int8"):
        validate_inputs(x, y, mesh, axis, **kwargs)


def test_s12_a_mesh_of_two_axes():
    is_proved(32, 256, 512, mesh=mesh_of(dp=2, tp=4))
    is_proved(32, 256, 512, mesh=mesh_of(tp=4, dp=2))


def test_s13_no_collective_id():
    assert "collective_id is None" in refusal(64, 256, 1024, collective_id=None)
    assert "collective_id is -1" in refusal(64, 256, 1024, collective_id=-1)


def test_s14_every_device_can_print_what_it_does():
    (x, y, mesh, axis), kwargs = call(64, 256, 1024)

    def program(debug):
        traced = jax.jit(
            lambda x, y: all_gather_matmul(x, y, mesh, axis, debug=debug, **kwargs)
        ).trace(x, y)
        return traced.lower(lowering_platforms=("tpu",)).as_text()

    assert len(program(True)) > len(program(False))


def test_s18_the_gathered_x_is_to_be_had():
    is_proved(50, 256, 1024, return_gathered=True)


def test_s19_a_second_call_traces_nothing(monkeypatch):
    traced = []
    plain = _local.call
    monkeypatch.setattr(_local, "call", lambda *args: traced.append(1) or plain(*args))
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("tp",))
    x, y = jnp.ones((32, 48)), jnp.ones((48, 64))
    for _ in range(3):
        all_gather_matmul(x, y, mesh, "tp", algorithm="sequential")
    assert len(traced) == 1


def test_s20_block_sizes_of_the_nearest_tuned_shape():
    def tuned(*args, **kwargs):
        return get_tuned_block_sizes(*args, **kwargs, chip="v6e")

    assert tuned(1024, 51200, 5120, "bfloat16", 8) == (6400, 2560)
    bn, bk = tuned(1100, 24576, 7168, "bfloat16", 8)
    assert 24576 // 8 % bn == 0 and 7168 % bk == 0
    args, kwargs = call(1024, 5120, 51200, bn=1280)  # and a bk that goes with it
    assert "1280" in get_kernel_name(*args, **kwargs)
    with pytest.raises(UnsupportedError, match="128"):
        tuned(1024, 1280, 5120, "bfloat16", 8)


def test_s20_chips_of_one_generation_are_two():
    assert chip_of(None, "TPU v5 lite") == "v5e" and chip_of(None, "TPU v5") == "v5p"
    assert "no chip 'v5'" in refusal(64, 256, 1024, chip="v5")
    with pytest.raises(UnsupportedError, match="'TPU v3'; chip= takes it for one of v4, v5e"):
        chip_of(None, "TPU v3")
    assert chip_of("v4", "TPU v3") == "v4"


def test_s21_docstrings_say_layouts_and_sizes():
    text = inspect.getdoc(all_gather_matmul)
    assert "[n, k]" in text and "block sizes" in text and "number of blocks" not in text


def test_s22_no_private_module_of_jax_is_imported_at_import():
    for path in Path(collective_matmul.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in getattr(node, "names", ())]
            module = getattr(node, "module", None) or ""
            assert not any("_src" in name for name in [module, *names]), path


def test_s23_the_cost_estimate_has_remote_bytes():
    args, kwargs = call(1024, 5120, 51200)
    cost = get_cost_estimate(*args, **kwargs)
    assert cost.flops == 2 * 1024 * 5120 * 6400
    assert cost.remote_bytes == 7 * 128 * 5120 * 2
    assert cost.hbm_bytes > 2 * (128 * 5120 + 5120 * 6400 + 1024 * 6400)  # each once, at least

"""What a caller may want to know before a call, on TPUs.

All but ``get_tuned_block_sizes`` take the arguments of ``all_gather_matmul``, with arrays or
``jax.ShapeDtypeStruct`` for x and y, and raise what the call itself would raise. With
``algorithm="sequential"`` there is no kernel to tell of: all but ``validate_inputs`` raise
UnsupportedError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax

from collective_matmul import _core
from collective_matmul._arguments import Int32, checked
from collective_matmul.jax import _function, _tpu
from collective_matmul.jax._function import Mesh
from collective_matmul.tpu import Verification, verification_of

Operand = jax.Array | jax.ShapeDtypeStruct
Operands = Operand | Sequence[Operand]


@dataclasses.dataclass(frozen=True)
class CostEstimate:
    """Work and traffic of one device for one call."""

    flops: int
    hbm_bytes: int
    remote_bytes: int


def validate_inputs(
    x: Operand, y: Operands, mesh: Mesh, axis_name: str, *args: Any, **options: Any
) -> None:
    """Raises what a call would raise, without making or compiling anything of it."""
    params, local_x, ys = _of_one_device(x, y, mesh, axis_name, *args, **options)
    if params["algorithm"] != "sequential":  # XLA's own takes all
        _tpu.kernel_call(params, local_x, ys)


def get_kernel_name(
    x: Operand, y: Operands, mesh: Mesh, axis_name: str, *args: Any, **options: Any
) -> str:
    """The kernel's name, as a profile shows it."""
    return _tpu.kernel_call(*_of_one_device(x, y, mesh, axis_name, *args, **options)).name


def get_vmem_estimate_bytes(
    x: Operand, y: Operands, mesh: Mesh, axis_name: str, *args: Any, **options: Any
) -> int:
    """Bytes of VMEM that the kernel's buffers take, padded to tiles, whether they fit or not."""
    return _core.tpu.vmem_estimate_bytes(*_problem(x, y, mesh, axis_name, *args, **options))


def get_cost_estimate(
    x: Operand, y: Operands, mesh: Mesh, axis_name: str, *args: Any, **options: Any
) -> CostEstimate:
    """Products, bytes that HBM reads and writes, and bytes that are sent to neighbours."""
    kernel = _core.tpu.describe(*_problem(x, y, mesh, axis_name, *args, **options))
    return CostEstimate(kernel.flops, kernel.hbm_bytes, kernel.remote_bytes)


def verify_kernel(
    x: Operand, y: Operands, mesh: Mesh, axis_name: str, *args: Any, **options: Any
) -> Verification:
    """Runs the kernel of a call on virtual devices, with data, in many orders of events.

    Takes a second for small shapes and grows with m * k * n.

    Returns:
        The verdict: true where the kernel is right; ``proved`` where no order of events can give
        another result.
    """
    problem, chip, kernel = _problem(x, y, mesh, axis_name, *args, **options)
    return verification_of(_core.tpu.verify(problem, chip, kernel, as_emitted=True))


@checked
def get_tuned_block_sizes(
    m: int, n: int, k: int, dtype_name: str, tp_size: Int32, *, chip: str
) -> tuple[int, int]:
    """(bn, bk) of the reference kernel: of the nearest shape it was tuned for, made to divide.

    Args:
        m, n, k: extents of all devices.
        dtype_name: as JAX names it, "bfloat16".
        tp_size: devices on the axis.
        chip: "v4", "v5e", "v5p", "v6e" or "7x".

    Raises:
        UnsupportedError: n / tp_size or k is no multiple of 128, which that kernel wants.
    """
    problem = _core.tpu.Problem(mesh=[tp_size], axis=0, m=m, k=k, n=[n], dtype=dtype_name)
    sizes = _core.tpu.tuned_block_sizes(problem, chip)
    return sizes.bn, sizes.bk


def _of_one_device(
    *args: Any, **options: Any
) -> tuple[dict[str, Any], jax.ShapeDtypeStruct, list[jax.ShapeDtypeStruct]]:
    """Parameters of the primitive, and the shapes that one device has."""
    call = _function.checked_call(*args, **options)
    config, n_of_y = call.config, 0 if call.config.rhs_transpose else 1
    rows = -(-call.x.shape[0] // call.row_parts)
    local_x = jax.ShapeDtypeStruct((rows, call.x.shape[1]), call.x.dtype)
    ys = []
    for each in call.ys:
        extents = list(each.shape)
        extents[n_of_y] = -(-extents[n_of_y] // config.num_ranks)
        ys.append(jax.ShapeDtypeStruct(tuple(extents), each.dtype))
    return config.primitive_params(), local_x, ys


def _problem(
    *args: Any, **options: Any
) -> tuple[_core.tpu.Problem, str, _core.tpu.KernelOptions]:
    params, local_x, ys = _of_one_device(*args, **options)
    chip = _tpu.chip_of(params["tpu"].chip, params["tpu"].device_kind)
    return _tpu.problem_of(params, local_x, ys), chip, _tpu.options_of(params)

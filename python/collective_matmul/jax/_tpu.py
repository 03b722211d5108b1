"""The lowering for TPUs: our kernel as a custom call, with operands padded to its tiles."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from collective_matmul import _core
from collective_matmul.errors import UnsupportedError
from collective_matmul.jax import _plain
from collective_matmul.jax._primitive import result_dtype

Shaped = jax.Array | jax.ShapeDtypeStruct

# What JAX calls a device, by the name that this library has for its chip.
_CHIPS = {
    "v4": ("TPU v4",),
    "v5e": ("TPU v5 lite", "TPU v5e"),
    "v5p": ("TPU v5", "TPU v5p"),
    "v6e": ("TPU v6 lite", "TPU v6e"),
    "7x": ("TPU7x", "TPU v7x", "TPU v7"),
}
ALGORITHMS = ("auto", "wavefront", "reference")


def chip_of(chip: str | None, device_kind: str | None) -> str:
    """The library's name of a chip: as given, else that of a device of this kind.

    Raises:
        UnsupportedError: the library does not know such a device, or there is none to ask.
    """
    if chip is not None:
        return chip
    if device_kind is None and jax.default_backend() == "tpu":
        device_kind = jax.devices()[0].device_kind
    for name, kinds in _CHIPS.items():
        if device_kind in kinds:
            return name
    known = ", ".join(_CHIPS)
    if device_kind is None:
        raise UnsupportedError(f"the mesh does not say which TPU it is of; give chip=, of {known}")
    raise UnsupportedError(
        f"no kernel is known to be right on {device_kind!r}; chip= takes it for one of {known}"
    )


def problem_of(params: dict[str, Any], x: Shaped, ys: Sequence[Shaped]) -> _core.tpu.Problem:
    """What the kernel is asked; x and ys have the shapes of one device, whatever they are."""
    tpu, num_ranks = params["tpu"], params["num_ranks"]
    n_of_y = 0 if params["rhs_transpose"] else 1
    return _core.tpu.Problem(
        mesh=tpu.mesh,
        axis=tpu.axis,
        m=num_ranks * x.shape[0],
        k=x.shape[1],
        n=[num_ranks * y.shape[n_of_y] for y in ys],
        dtype=x.dtype.name,
        out_dtype=_kernel_dtype(x.dtype, params).name,
        rhs_transpose=params["rhs_transpose"],
        gathered=params["return_gathered"],
    )


def _kernel_dtype(dtype: Any, params: dict[str, Any]) -> np.dtype:
    """What the kernel returns: the result's type where it can have it, else its sums."""
    has_epilogue = params["swiglu"] or any(name != "none" for name in params["activations"])
    if result_dtype(dtype, params["out_dtype"]) == dtype and not has_epilogue:
        return jnp.dtype(dtype)
    return jnp.dtype("int32" if dtype == jnp.int8 else "float32")


def options_of(params: dict[str, Any]) -> _core.tpu.KernelOptions:
    tpu, algorithm = params["tpu"], params["algorithm"]
    if algorithm == "sequential":
        raise UnsupportedError(
            "algorithm='sequential' is XLA's own gather and product: no kernel of ours is in it"
        )
    if algorithm is not None and algorithm not in ALGORITHMS:
        known = ", ".join((*ALGORITHMS, "sequential"))
        raise UnsupportedError(f"algorithm {algorithm!r} is none of a TPU; there are {known}")
    return _core.tpu.KernelOptions(
        schedule=algorithm or "auto",
        bn=tpu.bn,
        bk=tpu.bk,
        collective_id=tpu.collective_id,
        debug=tpu.debug,
    )


def kernel_call(
    params: dict[str, Any], x: Shaped, ys: Sequence[Shaped]
) -> _core.tpu.CustomCall:
    """The custom call of a kernel; x and ys have the shapes of one device.

    Raises:
        InvalidArgumentError, UnsupportedError: no kernel does this on the chip; the message says
            what would be right.
    """
    shapes = tuple((tuple(a.shape), a.dtype.name) for a in (x, *ys))
    return _kernel_call(tuple(params.items()), shapes)


@functools.lru_cache(maxsize=1024)
def _kernel_call(params: tuple, shapes: tuple) -> _core.tpu.CustomCall:
    of = dict(params)
    x, *ys = (jax.ShapeDtypeStruct(*each) for each in shapes)
    chip = chip_of(of["tpu"].chip, of["tpu"].device_kind)
    return _core.tpu.custom_call(problem_of(of, x, ys), chip, options_of(of))


@functools.lru_cache(maxsize=None)
def _kernel_primitive(name: str) -> Primitive:
    """A primitive by the kernel's name: that is what a profile shows for its custom call."""
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_abstract_eval(
        lambda *operands, results, config: [
            jax.core.ShapedArray(shape, jnp.dtype(dtype)) for shape, dtype in results
        ]
    )

    def lower(ctx: Any, *operands: Any, results: Any, config: str) -> Any:
        rule = jax.ffi.ffi_lowering(
            "tpu_custom_call",
            api_version=1,
            backend_config=config,
            has_side_effect=False,
            extra_attributes={"kernel_name": mlir.ir.StringAttr.get(name)},
        )
        return rule(ctx, *operands)

    mlir.register_lowering(primitive, lower, platform="tpu")
    return primitive


def _pad(x: jax.Array, shape: Sequence[int]) -> jax.Array:
    zero = np.zeros((), x.dtype)
    return lax.pad(x, zero, [(0, to - of, 0) for of, to in zip(x.shape, shape)])


def _cut(padded: jax.Array, num_ranks: int, rows: int, cols: int) -> jax.Array:
    """The first `rows` rows that each rank has, the first `cols` columns."""
    shards = padded.reshape(num_ranks, -1, padded.shape[1])
    return shards[:, :rows, :cols].reshape(num_ranks * rows, cols)


def _on_tpu(x: jax.Array, *ys_and_where: jax.Array, **params: Any) -> list[jax.Array]:
    *ys, _ = ys_and_where  # a kernel knows its device's place by itself
    call = kernel_call(params, x, ys)
    operands: list[Any] = [_pad(a, to.shape) for a, to in zip((x, *ys), call.operands)]
    if call.table:
        operands.insert(0, np.array(call.table, np.int32))
    results = _kernel_primitive(call.name).bind(
        *operands,
        results=tuple((tuple(r.shape), r.dtype) for r in call.results),
        config=call.config,
    )
    n_of_y = 0 if params["rhs_transpose"] else 1
    cols = [y.shape[n_of_y] for y in ys] + [x.shape[1]] * params["return_gathered"]
    results = [_cut(r, params["num_ranks"], x.shape[0], c) for r, c in zip(results, cols)]
    outs = _plain.epilogue(params["activations"], params["swiglu"], results[: len(ys)])
    wanted = result_dtype(x.dtype, params["out_dtype"])
    return [out.astype(wanted) for out in outs] + results[len(ys) :]


def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
    """The rule of the primitive: what the function above does, put in its place."""
    # Without the axes over which values vary: nothing in the function is about other devices.
    plain = [jax.core.ShapedArray(aval.shape, aval.dtype) for aval in ctx.avals_in]
    rule = mlir.lower_fun(functools.partial(_on_tpu, **params), multiple_results=True)
    return rule(ctx.replace(avals_in=plain), *operands)

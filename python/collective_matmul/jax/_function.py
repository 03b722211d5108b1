"""The public functions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from collective_matmul._arguments import shown
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.jax import _local, _rings
from collective_matmul.jax._config import Config, check_operands, make_config

Mesh = jax.sharding.Mesh | jax.sharding.AbstractMesh
Shaped = jax.Array | jax.ShapeDtypeStruct
Outs = jax.Array | list[jax.Array]
Results = Outs | tuple[Outs, jax.Array]


def all_gather_matmul(
    x: jax.Array,
    y: jax.Array | Sequence[jax.Array],
    mesh: Mesh,
    axis_name: str,
    collective_id: int | None = 0,
    bn: int | None = None,
    bk: int | None = None,
    rhs_transpose: bool = False,
    *,
    algorithm: str | None = None,
    return_gathered: bool = False,
    activation: str | Sequence[str] | None = None,
    swiglu: bool = False,
    out_dtype: jax.typing.DTypeLike | None = None,
    batch_axis: str | None = None,
    chip: str | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    debug: bool = False,
) -> Results:
    """all_gather(x) @ y, the gather hidden behind the product.

    x is sharded by rows over ``axis_name``, y by columns; so is the result. Over the mesh's other
    axes all of them are replicated, but for ``batch_axis``. Operands that are sharded in another
    way are moved first. Works inside and outside of jit, in scan, remat and vmap (one call for
    each element), and has a gradient; for the inside of a shard_map of your own there is
    ``all_gather_matmul_local``.

    Args:
        x: [m, k]. Any m: rows are padded to a multiple of the devices and cut off again.
        y: [k, n], or [n, k] with ``rhs_transpose``; or a list of such, which share one gather.
        mesh: devices; the kernel's ring runs along ``axis_name`` of it.
        axis_name: axis of the mesh along which x is gathered.
        collective_id: TPU: number of the barrier semaphore. Calls along one axis may share it; a
            kernel with other neighbours needs another.
        bn, bk: TPU: block sizes of the reference kernel, and the choice of that kernel; bn divides
            n / P, bk divides k, in multiples of 128. Not looked at on a CPU.
        rhs_transpose: y is [n, k].
        algorithm: TPU: "wavefront", the default, or "reference", the default where bn or bk is
            given. CPU: "direct". Anywhere: "sequential", which is XLA's own gather followed by its
            product.
        return_gathered: also return all_gather(x), [m, k], replicated over ``axis_name``.
        activation: "relu", "gelu_tanh", "gelu_erf" or "silu" of the f32 sums, before they are
            rounded; one name, or one for each right side ("none" among them).
        swiglu: y is [gate, up], and the result silu(x @ gate) * (x @ up).
        out_dtype: type of the result; None: that of x, and int32 of int8.
        batch_axis: another axis of the mesh over which rows of x are sharded too; each of its
            devices has a batch of its own. x is sharded by P((batch_axis, axis_name), None), the
            result by P(batch_axis, axis_name).
        chip: TPU: "v4", "v5e", "v5p", "v6e" or "7x", where the mesh's devices do not say it.
        deadline_seconds: CPU: how long a call may wait for other devices.
        debug: TPU: every device prints each phase of the kernel.

    Returns:
        out [m, n]; a list of them where y is a list (with ``swiglu`` one array); with
        ``return_gathered`` a pair of that and x.

    Raises:
        InvalidArgumentError: an argument is wrong; the message says what would be right.
        UnsupportedError: there is no kernel for this type or chip.
    """
    call = checked_call(
        x,
        y,
        mesh,
        axis_name,
        collective_id,
        bn,
        bk,
        rhs_transpose,
        algorithm=algorithm,
        return_gathered=return_gathered,
        activation=activation,
        swiglu=swiglu,
        out_dtype=out_dtype,
        batch_axis=batch_axis,
        chip=chip,
        deadline_seconds=deadline_seconds,
        debug=debug,
    )
    _rings.warn_of_long_hops(mesh, axis_name, chip)
    return _packed(call.config, y, _sharded(call.config, mesh, batch_axis, call.x, call.ys))


@dataclasses.dataclass(frozen=True)
class CheckedCall:
    """The arguments of a call, right as far as that can be told without a platform."""

    config: Config
    x: Any  # array or shape, as the ys
    ys: tuple[Any, ...]
    row_parts: int  # devices that the rows of x are shared out to


def checked_call(
    x: Shaped,
    y: Shaped | Sequence[Shaped],
    mesh: Mesh,
    axis_name: str,
    collective_id: int | None = 0,
    bn: int | None = None,
    bk: int | None = None,
    rhs_transpose: bool = False,
    *,
    batch_axis: str | None = None,
    **options: Any,
) -> CheckedCall:
    """Of the arguments of ``all_gather_matmul``; x and y may be shapes with types.

    Raises:
        InvalidArgumentError: an argument is wrong; the message says what would be right.
    """
    if getattr(jax.sharding.get_abstract_mesh(), "manual_axes", ()):
        raise InvalidArgumentError(
            "all_gather_matmul is called inside a shard_map; it has a shard_map of its own. "
            "Inside, call all_gather_matmul_local on the device's parts"
        )
    (x,), ys = _arrays((x,)), _right_sides(y)
    config = make_config(
        mesh,
        axis_name,
        len(ys),
        collective_id=collective_id,
        bn=bn,
        bk=bk,
        rhs_transpose=rhs_transpose,
        **options,
    )
    check_operands(config, x, ys)
    if batch_axis is not None and batch_axis not in config.other_axes:
        others = ", ".join(repr(name) for name in config.other_axes) or "none"
        raise InvalidArgumentError(
            f"batch_axis is {shown(batch_axis)}; it must be another axis of the mesh than "
            f"{axis_name!r}, of which there are: {others}"
        )
    batches = 1 if batch_axis is None else dict(config.mesh_axes)[batch_axis]
    return CheckedCall(config, x, ys, row_parts=config.num_ranks * batches)


def all_gather_matmul_local(
    x: jax.Array,
    y: jax.Array | Sequence[jax.Array],
    axis_name: str,
    *,
    mesh: Mesh | None = None,
    collective_id: int | None = 0,
    bn: int | None = None,
    bk: int | None = None,
    rhs_transpose: bool = False,
    algorithm: str | None = None,
    return_gathered: bool = False,
    activation: str | Sequence[str] | None = None,
    swiglu: bool = False,
    out_dtype: jax.typing.DTypeLike | None = None,
    chip: str | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    debug: bool = False,
) -> Results:
    """The part of one device of ``all_gather_matmul``, for the inside of a shard_map.

    Collective: every device of the axis calls it, the same number of times and in the same order.
    All axes of the mesh must be manual there.

    Args:
        x: [m / P, k], the device's rows; equally many on all devices.
        y: [k, n / P], or [n / P, k] with ``rhs_transpose``; or a list of such.
        axis_name: axis of the mesh along which x is gathered.
        mesh: that of the shard_map; None: as the shard_map says. Needed for the TPU's name with
            versions of JAX whose shard_map does not tell it; ``chip`` does as well.

    The others are those of ``all_gather_matmul``, and so are errors.

    Returns:
        out [m, n / P], and with ``return_gathered`` x [m, k], arranged as by ``all_gather_matmul``.
    """
    mesh = mesh if mesh is not None else jax.sharding.get_abstract_mesh()
    (x,), ys = _arrays((x,)), _right_sides(y)
    config = make_config(
        mesh,
        axis_name,
        len(ys),
        collective_id=collective_id,
        bn=bn,
        bk=bk,
        rhs_transpose=rhs_transpose,
        algorithm=algorithm,
        return_gathered=return_gathered,
        activation=activation,
        swiglu=swiglu,
        out_dtype=out_dtype,
        chip=chip,
        deadline_seconds=deadline_seconds,
        debug=debug,
    )
    if axis_name not in mesh.shape:
        axes = ", ".join(repr(name) for name in mesh.shape) or "none"
        raise InvalidArgumentError(
            f"axis_name is {axis_name!r}, but the axes of this shard_map are: {axes}; outside of "
            "a shard_map, call all_gather_matmul"
        )
    check_operands(config, x, ys)
    return _packed(config, y, _local.call(config, x, ys))


def _right_sides(y: Any) -> tuple[Any, ...]:
    ys = tuple(y) if isinstance(y, (list, tuple)) else (y,)
    if not ys:
        raise InvalidArgumentError("y is an empty list; give at least one right side")
    return _arrays(ys)


def _arrays(operands: Sequence[Any]) -> tuple[Any, ...]:
    try:
        return tuple(
            a if isinstance(a, jax.ShapeDtypeStruct) else jnp.asarray(a) for a in operands
        )
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"x and y must be arrays: {error}") from error


def _packed(config: Config, y: Any, results: tuple[jax.Array, ...]) -> Results:
    """As the caller gave y: an array for an array, a list for a list."""
    outs = list(results[:-1] if config.return_gathered else results)
    out = outs if isinstance(y, (list, tuple)) and not config.swiglu else outs[0]
    return (out, results[-1]) if config.return_gathered else out


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _sharded(
    config: Config,
    mesh: Mesh,
    batch_axis: str | None,
    x: jax.Array,
    ys: tuple[jax.Array, ...],
) -> tuple[jax.Array, ...]:
    """Of matrices of all devices: pads to equal parts, runs each device's part, cuts."""
    axis = config.axis_name
    m, k = x.shape
    n_of_y = 0 if config.rhs_transpose else 1
    batches = dict(config.mesh_axes)[batch_axis] if batch_axis else 1
    num_outs = 1 if config.swiglu else len(ys)
    of_x = P((batch_axis, axis) if batch_axis else axis, None)
    of_y = P(axis, None) if config.rhs_transpose else P(None, axis)
    out_specs = [P(batch_axis, axis)] * num_outs + [P(batch_axis, None)] * config.return_gathered
    on_each_device = jax.shard_map(
        functools.partial(_local.call, config),
        mesh=mesh,
        in_specs=(of_x, (of_y,) * len(ys)),
        out_specs=tuple(out_specs),
        check_vma=False,
    )
    results = on_each_device(
        _placed(_padded(x, 0, config.num_ranks * batches), mesh, of_x),
        tuple(_placed(_padded(y, n_of_y, config.num_ranks), mesh, of_y) for y in ys),
    )
    cols = [y.shape[n_of_y] for y in ys[:num_outs]] + [k] * config.return_gathered
    return tuple(
        _cut(result, spec, (m, c), mesh) for result, spec, c in zip(results, out_specs, cols)
    )


def _padded(a: jax.Array, dimension: int, parts: int) -> jax.Array:
    """Zeros at the end, so that there are `parts` equal parts."""
    missing = -a.shape[dimension] % parts
    return a if missing == 0 else jnp.pad(a, [(0, missing * (i == dimension)) for i in range(2)])


def _cut(a: jax.Array, spec: P, shape: tuple[int, int], mesh: Mesh) -> jax.Array:
    """The first rows and columns. Where it is cut they are no equal parts: all devices have all."""
    if a.shape == shape:
        return a
    kept = P(*(axes if of == to else None for axes, of, to in zip(spec, a.shape, shape)))
    return _placed(a, mesh, kept)[: shape[0], : shape[1]]


def _placed(a: jax.Array, mesh: Mesh, spec: P) -> jax.Array:
    """Moves where shardings are a part of types; elsewhere the compiler sees to it."""
    return _reshard(a, jax.sharding.NamedSharding(mesh, spec)) if mesh.explicit_axes else a


def _reshard(a: jax.Array, sharding: jax.sharding.NamedSharding) -> jax.Array:
    if hasattr(jax.sharding, "reshard"):
        return jax.sharding.reshard(a, sharding)
    from jax.experimental.shard import reshard  # its place before

    return reshard(a, sharding)

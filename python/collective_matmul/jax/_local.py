"""The part of one device, inside a shard_map: primitive, gradient and batching."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from collective_matmul.errors import InvalidArgumentError, UnsupportedError
from collective_matmul.jax import _plain, _tpu
from collective_matmul.jax._config import Config
from collective_matmul.jax._primitive import all_gather_matmul_p

Arrays = tuple[jax.Array, ...]


def place(config: Config) -> jax.Array:
    """int32 [2]: the device's rank on the axis, and the number of its group among the others."""
    try:
        rank = lax.axis_index(config.axis_name)
        group = jnp.int32(0)
        for name, size in config.mesh_axes:
            if name != config.axis_name:
                group = group * size + (lax.axis_index(name) if size > 1 else 0)
    except NameError:
        axes = ", ".join(repr(name) for name, _ in config.mesh_axes)
        raise InvalidArgumentError(
            "all_gather_matmul_local is for the inside of a shard_map that has all axes of the "
            f"mesh ({axes}); outside, call all_gather_matmul"
        ) from None
    return jnp.stack([rank, group]).astype(jnp.int32)


@functools.lru_cache(maxsize=None)
def _bind(config: Config) -> Callable[..., list[jax.Array]]:
    """The primitive as a function, which a batch calls once for each of its elements."""
    params = config.primitive_params()
    return jax.custom_batching.sequential_vmap(
        lambda x, ys, where: all_gather_matmul_p.bind(x, *ys, where, **params)
    )


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _differentiable(config: Config, x: jax.Array, ys: Arrays) -> Arrays:
    where = same_axes(place(config), like=x)
    return tuple(_bind(config)(x, ys, where))


def _forward(
    config: Config, x: jax.Array, ys: Arrays
) -> tuple[Arrays, tuple[jax.Array, Arrays]]:
    if jnp.dtype(x.dtype).itemsize == 1:
        raise UnsupportedError(
            f"no gradient of products of {x.dtype.name}: it has too few bits for sums of "
            "gradients; convert x and y to bfloat16 where gradients are wanted"
        )
    return _differentiable(config, x, ys), (x, ys)


def _backward(
    config: Config, operands: tuple[jax.Array, Arrays], cotangents: Arrays
) -> tuple[jax.Array, Arrays]:
    return _plain.gradients(config, *operands, cotangents)


_differentiable.defvjp(_forward, _backward)


def axes_of(x: jax.Array) -> frozenset[str]:
    """Axes of the mesh over which the value differs, as far as shard_map keeps track of them."""
    aval = jax.typeof(x)
    varying = getattr(getattr(aval, "manual_axis_type", None), "varying", None)
    return frozenset(varying if varying is not None else getattr(aval, "vma", ()))


def _vary(x: jax.Array, axes: frozenset[str]) -> jax.Array:
    missing = tuple(sorted(axes - axes_of(x)))
    if not missing:
        return x
    if hasattr(lax, "pcast"):
        return lax.pcast(x, missing, to="varying")
    return lax.pvary(x, missing)


def same_axes(x: jax.Array, *, like: jax.Array) -> jax.Array:
    return _vary(x, axes_of(like))


def call(config: Config, x: jax.Array, ys: Arrays) -> Arrays:
    """All results of one device; shapes as of the primitive."""
    axes = frozenset().union(*(axes_of(operand) for operand in (x, *ys)))
    if axes:  # empty where shard_map does not keep track
        axes |= {config.axis_name}
    x, ys = _vary(x, axes), tuple(_vary(y, axes) for y in ys)
    if config.algorithm == "sequential":
        return _plain.results(config, x, ys)
    if config.device_kind is not None:  # what no kernel does is told now, not at lowering
        _tpu.kernel_call(config.primitive_params(), x, ys)
    return _differentiable(config, x, ys)

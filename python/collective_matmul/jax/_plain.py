"""The same product in JAX's own operations: the definition, and the gradient that follows of it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from collective_matmul.jax._config import Config
from collective_matmul.jax._primitive import result_dtype

Arrays = tuple[jax.Array, ...]

_ACTIVATIONS = {
    "none": lambda sums: sums,
    "relu": jax.nn.relu,
    "gelu_tanh": lambda sums: jax.nn.gelu(sums, approximate=True),
    "gelu_erf": lambda sums: jax.nn.gelu(sums, approximate=False),
    "silu": jax.nn.silu,
}


def dot(a: jax.Array, b: jax.Array, contract: tuple[int, int]) -> jax.Array:
    """Sums over dimension contract[0] of a and contract[1] of b, in f32 or int32."""
    sums = jnp.int32 if jnp.issubdtype(a.dtype, jnp.integer) else jnp.float32
    dimensions = (((contract[0],), (contract[1],)), ((), ()))
    return lax.dot_general(a, b, dimensions, preferred_element_type=sums)


def epilogue(
    activations: tuple[str, ...], swiglu: bool, sums: list[jax.Array]
) -> list[jax.Array]:
    """Of the f32 sums of each right side; SwiGLU makes one of two."""
    if swiglu:
        return [jax.nn.silu(sums[0]) * sums[1]]
    if not activations:
        return sums
    return [_ACTIVATIONS[name](each) for name, each in zip(activations, sums)]


def results(config: Config, x: jax.Array, ys: Arrays) -> Arrays:
    """What the primitive returns, by XLA's own gather and products."""
    n_of_y = 0 if config.rhs_transpose else 1
    gathered = lax.all_gather(x, config.axis_name, axis=0, tiled=True)
    sums = [dot(gathered, y, (1, 1 - n_of_y)) for y in ys]
    dtype = result_dtype(x.dtype, config.out_dtype)
    outs = [out.astype(dtype) for out in epilogue(config.activations, config.swiglu, sums)]
    return (*outs, gathered) if config.return_gathered else tuple(outs)


def gradients(
    config: Config, x: jax.Array, ys: Arrays, cotangents: Arrays
) -> tuple[jax.Array, Arrays]:
    """Cotangents of x_local and of each right side, from those of all results of this device.

    x_local gets the sum over ranks of each rank's g @ y^T, its own rows of it, rounded to x's type
    before it travels, as JAX does it. y gets all_gather(x)^T @ g: x is gathered anew, which costs
    less memory than to keep it.
    """
    n_of_y = 0 if config.rhs_transpose else 1
    gathered = lax.all_gather(x, config.axis_name, axis=0, tiled=True)
    outs = list(cotangents)
    of_gathered = outs.pop() if config.return_gathered else None
    if config.has_epilogue:
        sums = [dot(gathered, y, (1, 1 - n_of_y)) for y in ys]
        _, pull = jax.vjp(lambda s: epilogue(config.activations, config.swiglu, s), sums)
        of_sums = pull([g.astype(jnp.float32) for g in outs])[0]
        of_sums = [g.astype(outs[0].dtype) for g in of_sums]
    else:
        of_sums = outs
    first, *more = (dot(g, y, (1, n_of_y)) for g, y in zip(of_sums, ys))
    of_x = sum(more, first)
    if of_gathered is not None:
        of_x += of_gathered.astype(of_x.dtype)
    of_x = lax.psum_scatter(of_x.astype(x.dtype), config.axis_name, tiled=True)
    of_ys = tuple(
        (dot(g, gathered, (0, 0)) if config.rhs_transpose else dot(gathered, g, (0, 0))).astype(
            y.dtype
        )
        for g, y in zip(of_sums, ys)
    )
    return of_x, of_ys

"""The feed-forward block of a real model on JAX's devices, checked against the unsharded block in
float64.

usage: python mlp_jax.py [model.safetensors]

    hidden [m, INNER / P] = gelu(all_gather(x) @ w1_r + b1_r)      the library, its gather hidden
    out    [m / P, WIDTH] = psum_scatter(hidden @ w2_r) + b2       JAX: no part of this library
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")  # CPU devices

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P
from minilm import gelu, linear, report, silu, weights_of_arguments

from collective_matmul.jax import all_gather_matmul_local, ring_mesh

TOKENS = 256


def with_bias(weight, bias):
    """[n, k] and [n] as one right side [n, k + 1], for an x whose last column is 1."""
    return np.concatenate([weight, bias[:, None]], axis=1)


def sharded(mesh, x, first, second, **epilogue):
    """out [m, WIDTH]. first: right sides [INNER, WIDTH + 1]; second: weight [WIDTH, INNER], bias."""

    @jax.jit
    def block(x, first, w2, b2):
        def of_one_device(x, first, w2, b2):
            ones = jnp.ones((len(x), 1), x.dtype)
            hidden = all_gather_matmul_local(
                jnp.concatenate([x, ones], axis=1), first, "tp", rhs_transpose=True, **epilogue
            )
            hidden = hidden[0] if isinstance(hidden, list) else hidden  # [m, INNER / P]
            return jax.lax.psum_scatter(hidden @ w2.T, "tp", tiled=True) + b2

        return jax.shard_map(
            of_one_device,
            mesh=mesh,
            in_specs=(P("tp", None), P("tp", None), P(None, "tp"), P()),
            out_specs=P("tp", None),
        )(x, first, w2, b2)

    return np.asarray(block(x, first, *second))


def main():
    mesh = ring_mesh(jax.devices(), "tp")
    weights = weights_of_arguments()
    x = weights.tokens(TOKENS)
    w1, b1 = weights.dense(0, "intermediate")
    w2, b2 = weights.dense(0, "output")
    v1, c1 = weights.dense(1, "intermediate")

    exact = linear(gelu(linear(x, w1, b1)), w2, b2)
    out = sharded(mesh, x, [with_bias(w1, b1)], (w2, b2), activation="gelu_erf")
    report(f"feed-forward block of layer 0 on {mesh.size} devices", out, exact, 1e-5)

    # This model has no gated block. The shapes and the numbers are those of its layers 0 and 1; what
    # they compute together means nothing.
    exact = linear(silu(linear(x, w1, b1)) * linear(x, v1, c1), w2, b2)
    out = sharded(mesh, x, [with_bias(w1, b1), with_bias(v1, c1)], (w2, b2), swiglu=True)
    report(f"a SwiGLU block put together from two layers on {mesh.size} devices", out, exact, 1e-5)


if __name__ == "__main__":
    main()

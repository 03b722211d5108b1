"""The feed-forward block of a real model on ranks that are threads, checked against the unsharded
block in float64.

usage: python mlp_numpy.py [model.safetensors]

    hidden [m, INNER / P] = gelu(all_gather(x) @ w1_r + b1_r)      the library, its gather hidden
    out    [m / P, WIDTH] = reduce_scatter(hidden @ w2_r) + b2     numpy: no part of this library
"""

import threading

import collective_matmul.numpy as cmm
import numpy as np
from minilm import INNER, WIDTH, gelu, linear, report, silu, weights_of_arguments

RANKS, TOKENS = 4, 256


def part(extent, rank):
    return slice(rank * extent // RANKS, (rank + 1) * extent // RANKS)


class ReduceScatter:
    """Sums the ranks' [m, n] and gives each its own rows; for threads of one process."""

    def __init__(self):
        self._partial = [None] * RANKS
        self._barrier = threading.Barrier(RANKS, timeout=60)

    def __call__(self, rank, partial):
        self._partial[rank] = partial
        self._barrier.wait()
        return sum(each[part(len(each), rank)] for each in self._partial)


def sharded(x, first, second, activation=None, swiglu=False):
    """out [m, WIDTH]. first: pairs of weight [INNER, WIDTH] and bias; second: [WIDTH, INNER]."""
    reduce_scatter = ReduceScatter()

    def body(mesh):
        rank = mesh.rank
        inner = part(INNER, rank)
        # Once per layer: this rank's columns of each right side.
        ours = [cmm.Weights.pack(w[inner], transposed=True, bias=b[inner]) for w, b in first]
        call = cmm.plan(
            mesh.axis(),
            m=len(x),
            k=WIDTH,
            n_local=[INNER // RANKS] * len(ours),
            activation=activation or (),
            swiglu=swiglu,
        )
        # Each time.
        hidden = call(x[part(len(x), rank)], ours)  # [m, INNER / P]
        hidden = hidden if swiglu else hidden[0]
        w2, b2 = second
        return reduce_scatter(rank, hidden @ w2[:, inner].T) + b2

    return np.concatenate(cmm.run_ranks(RANKS, body))


def main():
    weights = weights_of_arguments()
    x = weights.tokens(TOKENS)
    w1, b1 = weights.dense(0, "intermediate")
    w2, b2 = weights.dense(0, "output")
    v1, c1 = weights.dense(1, "intermediate")

    exact = linear(gelu(linear(x, w1, b1)), w2, b2)
    out = sharded(x, [(w1, b1)], (w2, b2), activation="gelu_erf")
    report("feed-forward block of layer 0", out, exact, 1e-5)

    # This model has no gated block. The shapes and the numbers are those of its layers 0 and 1;
    # what they compute together means nothing.
    exact = linear(silu(linear(x, w1, b1)) * linear(x, v1, c1), w2, b2)
    out = sharded(x, [(w1, b1), (v1, c1)], (w2, b2), swiglu=True)
    report("a SwiGLU block put together from two layers", out, exact, 1e-5)


if __name__ == "__main__":
    main()

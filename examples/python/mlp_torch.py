"""The feed-forward block of a real model on the processes of a PyTorch group, checked against the
unsharded block in float64.

usage: python mlp_torch.py [model.safetensors]

    hidden [m, INNER / P] = gelu(all_gather(x) @ w1_r + b1_r)      the library, its gather hidden
    out    [m / P, WIDTH] = reduce_scatter(hidden @ w2_r) + b2     torch.distributed

As with PyTorch's sequence parallelism, x and out are split by tokens, w1 by columns, w2 by rows.
"""

import os
import tempfile

import collective_matmul.torch as cmt
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from minilm import INNER, WIDTH, gelu, linear, report, weights_of_arguments

RANKS, TOKENS = 4, 256


class FeedForward(torch.nn.Module):
    """One rank's part of the block."""

    def __init__(self, first, second, rank):
        super().__init__()
        inner = slice(rank * INNER // RANKS, (rank + 1) * INNER // RANKS)
        (w1, b1), (w2, b2) = first, second
        # Once per layer; a model that is trained gives w1 itself to each call instead.
        self.first = cmt.pack(w1[inner], transposed=True, bias=b1[inner])
        self.second = torch.nn.Parameter(w2[:, inner], requires_grad=False)
        self.bias = torch.nn.Parameter(b2, requires_grad=False)

    def forward(self, x):  # [m / P, WIDTH]
        _, [hidden] = cmt.all_gather_matmul(x, [self.first], activation="gelu_erf")
        out = torch.empty_like(x)
        dist.reduce_scatter_tensor(out, torch.nn.functional.linear(hidden, self.second))
        return out + self.bias


def run_rank(rank, first, second, x, folder):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS
    )
    block = FeedForward(first, second, rank)
    mine = cmt.empty(TOKENS // RANKS, WIDTH)  # where the other ranks can read it
    mine.copy_(x.chunk(RANKS)[rank])
    torch.save(block(mine), os.path.join(folder, f"out{rank}"))
    dist.destroy_process_group()


def main():
    weights = weights_of_arguments()
    x = weights.tokens(TOKENS)
    first, second = (weights.dense(0, part) for part in ("intermediate", "output"))
    exact = linear(gelu(linear(x, *first)), *second)
    first, second = ([torch.tensor(each) for each in layer] for layer in (first, second))
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, args=(first, second, torch.tensor(x), folder), nprocs=RANKS)
        out = torch.cat([torch.load(os.path.join(folder, f"out{r}")) for r in range(RANKS)])
    report("feed-forward block of layer 0", out.numpy(), exact, 1e-5)


if __name__ == "__main__":
    main()

"""The operator of collective_matmul.torch against PyTorch's own way on CPUs: all_gather_into_tensor
over gloo, then one product by torch.mm, both into tensors made beforehand.

usage: torch_gloo.py [--quick] [--ranks P] [--m M ...] [--dtype f32|bf16 ...] [--json FILE]

Each round times all contenders in turn, from the first rank's start to the last rank's end; the
figures are medians and quartiles of the rounds, the ratio that of the medians. Weights lie as a
linear layer keeps them, [n, k], and are taken in turn from as many copies as no cache holds.
"""

import argparse
import json
import math
import os
import statistics
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch_ranks import DTYPES, seconds_of

import collective_matmul.torch as cmt

SAMPLE_SECONDS = 20e-3


def contenders(options, rank, dtype, m):
    """Name -> a call that makes this rank's product, all from the same tensors."""
    num_ranks, k = options.ranks, options.k
    n_local = options.n // num_ranks
    rows = [m // num_ranks + (r < m % num_ranks) for r in range(num_ranks)]
    even = rows[0] == rows[-1]
    x = cmt.empty(rows[rank], k, dtype=dtype)
    x.copy_(torch.rand(rows[rank], k) - 0.5)
    weight_bytes = n_local * k * dtype.itemsize * num_ranks
    copies = math.ceil(options.cold_mib * 2**20 / weight_bytes) + 1 if m <= 64 else 1
    first = (torch.rand(n_local, k) - 0.5).to(dtype)
    weights = [first, *(first.clone() for _ in range(copies - 1))]
    packed = [cmt.pack(weight, transposed=True) for weight in weights]
    gathered = torch.empty(m, k, dtype=dtype)
    out = torch.empty(m, n_local, dtype=dtype)
    turn = {"gloo": 0, "plain": 0, "packed": 0}

    def next_of(name, choices):
        turn[name] += 1
        return choices[turn[name] % copies]

    def gloo():
        if even:
            dist.all_gather_into_tensor(gathered, x)
        else:  # which takes equal parts only
            for source, part in enumerate(gathered.split(rows)):
                if part.numel() > 0:
                    if source == rank:
                        part.copy_(x)
                    dist.broadcast(part, source)
        torch.mm(gathered, next_of("gloo", weights).t(), out=out)

    def plain():
        weight = next_of("plain", weights)
        cmt.all_gather_matmul(x, [weight], transposed=True, rows=None if even else rows)

    def from_packed():
        weight = next_of("packed", packed)
        cmt.all_gather_matmul(x, [weight], rows=None if even else rows)

    return {"gloo": gloo, "plain": plain, "packed": from_packed}


def measure(options, rank, dtype, m):
    calls = contenders(options, rank, DTYPES[dtype], m)
    counts, seconds = {}, {name: [] for name in calls}
    for name, call in calls.items():
        seconds_of(2, call)
        counts[name] = math.ceil(SAMPLE_SECONDS / seconds_of(1, call))
    for _ in range(options.rounds):
        for name, call in calls.items():
            seconds[name].append(seconds_of(counts[name], call))
    row = {"dtype": dtype, "m": m, "k": options.k, "n": options.n, "num_ranks": options.ranks}
    for name, values in seconds.items():
        low, median, high = statistics.quantiles(values, n=4)
        row[name] = {"median": median, "low_quartile": low, "high_quartile": high}
    return row


def run_rank(rank, options, folder):
    torch.set_num_threads(options.threads)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=options.ranks
    )
    rows = []
    with torch.inference_mode():
        for dtype in options.dtype:
            for m in options.m:
                rows.append(measure(options, rank, dtype, m))
                if rank == 0:
                    print(line_of(rows[-1]), flush=True)
    if rank == 0:
        with open(os.path.join(folder, "rows"), "w") as file:
            json.dump(rows, file)
    dist.destroy_process_group()


def line_of(row):
    text = f"{row['dtype']:5} m {row['m']:5}"
    for name in ("gloo", "plain", "packed"):
        low, median, high = (
            1e3 * row[name][key] for key in ("low_quartile", "median", "high_quartile")
        )
        text += f"   {name} {median:9.3f} ms ({low:.3f} .. {high:.3f})"
        if name != "gloo":
            text += f" {row['gloo']['median'] / row[name]['median']:5.2f}x"
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=max(1, os.cpu_count() // 2), help="of each")
    parser.add_argument("--m", type=int, nargs="+", default=[1, 16, 64, 256, 1024])
    parser.add_argument("--quick", action="store_const", dest="m", const=[1, 16, 256])
    parser.add_argument("--k", type=int, default=4096)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--dtype", nargs="+", default=["f32", "bf16"], choices=DTYPES)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cold-mib", type=int, default=300)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, args=(options, folder), nprocs=options.ranks)
        with open(os.path.join(folder, "rows")) as file:
            rows = json.load(file)
    if options.json:
        with open(options.json, "w") as file:
            result = {"library": f"torch {torch.__version__}, gloo", "products": rows}
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()

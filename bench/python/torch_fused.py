"""The same problem as bench_fused by PyTorch: torch.distributed's all_gather_into_tensor over gloo,
then a linear layer. usage: torch_fused.py [--quick] [--json FILE]   (needs torch; P processes)"""

import argparse
import json
import math
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch_ranks import DTYPES, seconds_of

COLD_ROWS = 64
SAMPLE_SECONDS = 2e-3


def spread(values):
    values = sorted(values)
    last = len(values) - 1
    return {
        "median": values[len(values) // 2],
        "low_quartile": values[last // 4],
        "high_quartile": values[last - last // 4],
    }


def measure(options, num_ranks, rank, dtype, m):
    share = options.n // num_ranks + (rank < options.n % num_ranks)
    y = torch.rand(share, options.k).sub_(0.5).to(DTYPES[dtype])  # [n, k], as a linear layer has it
    copies = 1
    if m <= COLD_ROWS:
        weight_bytes = options.n * options.k * y.element_size()
        copies = math.ceil(options.cold_mib * 2**20 / weight_bytes) + 1
    weights = [y.clone() for _ in range(copies)]
    x_local = torch.rand(m // num_ranks, options.k).sub_(0.5).to(DTYPES[dtype])
    gathered = torch.empty(m, options.k, dtype=DTYPES[dtype])
    out = torch.empty(m, share, dtype=DTYPES[dtype])
    turn = [0]

    def gather():
        dist.all_gather_into_tensor(gathered, x_local)

    def both():
        gather()
        turn[0] += 1
        torch.mm(gathered, weights[turn[0] % copies].t(), out=out)

    seconds_of(1, both)
    calls = math.ceil(SAMPLE_SECONDS / seconds_of(1, both))
    total, alone = [], []
    for _ in range(options.rounds):
        total.append(seconds_of(calls, both))
        alone.append(seconds_of(calls, gather))
    return {
        "dtype": dtype,
        "num_ranks": num_ranks,
        "threads_per_rank": torch.get_num_threads(),
        "m": m,
        "k": options.k,
        "n": options.n,
        "seconds": {"total": spread(total), "all_gather": spread(alone)},
    }


def run_rank(rank, num_ranks, options, meeting_file, result_file):
    torch.set_num_threads(max(1, options.cores // num_ranks))
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting_file}", rank=rank, world_size=num_ranks
    )
    rows = []
    with torch.inference_mode():
        for dtype in options.dtype:
            for m in options.m:
                if m % num_ranks != 0:
                    continue  # all_gather_into_tensor takes equal shares only
                rows.append(measure(options, num_ranks, rank, dtype, m))
                if rank == 0:
                    seconds = rows[-1]["seconds"]
                    print(
                        f"torch {torch.__version__} gloo  P {num_ranks}  {dtype:5} m {m:5}"
                        f"  all_gather {1e3 * seconds['all_gather']['median']:9.3f} ms"
                        f"  both {1e3 * seconds['total']['median']:9.3f} ms",
                        flush=True,
                    )
    if rank == 0:
        with open(result_file, "w") as file:
            json.dump(rows, file)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, nargs="+")
    parser.add_argument("--k", type=int, default=4096)
    parser.add_argument("--n", type=int)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--dtype", nargs="+", default=["f32", "bf16"], choices=DTYPES)
    parser.add_argument("--cold-mib", type=int, default=300)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true", help="the problems of bench_fused --quick")
    parser.add_argument("--json")
    options = parser.parse_args()
    quick = options.quick
    options.m = options.m or ([1, 16, 256, 1024] if quick else [1, 4, 16, 64, 256, 1024, 4096])
    options.n = options.n or (8192 if quick else 14336)
    options.rounds = options.rounds or (7 if quick else 9)

    rows = []
    for num_ranks in options.ranks:
        with tempfile.TemporaryDirectory() as folder:
            results = os.path.join(folder, "results")
            arguments = (num_ranks, options, os.path.join(folder, "meeting"), results)
            mp.spawn(run_rank, args=arguments, nprocs=num_ranks)
            with open(results) as file:
                rows += json.load(file)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"library": f"torch {torch.__version__}, gloo", "products": rows}, file, indent=2)


if __name__ == "__main__":
    main()

"""What the benchmarks with PyTorch have in common: types by name, and the clock of their ranks."""

import time

import torch
import torch.distributed as dist

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def seconds_of(calls, call):
    """Of one call, from the first rank's start to the last rank's end; the ranks share the host's
    clock. Collective."""
    dist.barrier()
    begin = time.monotonic()
    for _ in range(calls):
        call()
    times = torch.tensor([-begin, time.monotonic()], dtype=torch.float64)
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return (times[1] + times[0]).item() / calls

"""Processes in a process group, for the tests of the PyTorch operator.

A process imports PyTorch once and then runs one body after the other, so that a test costs
milliseconds. No wait is without a deadline.
"""

import multiprocessing
import socket
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

SECONDS = 100  # for anything a test waits for, where it says no other

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch_ranks", "collective_matmul.torch"])


class RankError(AssertionError):
    """What a body raised, or that its process ended, on one rank."""


class Ranks:
    """num_ranks processes; run(body, ...) calls body(rank, ...) on each of them."""

    def __init__(self, num_ranks, *, tcp=False):
        """tcp: the store is a server in rank 0, not a file."""
        self.folder = tempfile.TemporaryDirectory()
        store = f"tcp://localhost:{_free_port()}" if tcp else f"file://{self.folder.name}/store"
        self.processes, self.pipes = [], []
        for rank in range(num_ranks):
            ours, theirs = _context.Pipe()
            process = _context.Process(
                target=_serve,
                args=(theirs, rank, num_ranks, store),
                daemon=True,
            )
            process.start()
            theirs.close()
            self.processes.append(process)
            self.pipes.append(ours)

    def run(self, body, *args, may_end=(), seconds=SECONDS):
        """The results by rank; None for a rank in may_end whose process has ended."""
        for rank, pipe in enumerate(self.pipes):
            if self.processes[rank].is_alive():
                pipe.send((body, args))
        results, errors = [], []
        deadline = time.monotonic() + seconds
        for rank, pipe in enumerate(self.pipes):
            try:
                if not pipe.poll(max(0, deadline - time.monotonic())):
                    raise RankError(f"rank {rank} does not answer within {seconds} s")
                result, error = pipe.recv()
            except (EOFError, ConnectionError):
                result, error = None, None if rank in may_end else "its process ended"
            results.append(result)
            if error is not None:
                errors.append(f"rank {rank}: {error}")
        if errors:
            raise RankError("\n".join(errors))
        return results

    def close(self):
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _free_port():
    with socket.socket() as any_socket:
        any_socket.bind(("localhost", 0))
        return any_socket.getsockname()[1]


def _serve(pipe, rank, num_ranks, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=num_ranks)
    while True:
        try:
            body, args = pipe.recv()
        except EOFError:
            break
        try:
            answer = (body(rank, *args), None)
        except BaseException:
            answer = (None, traceback.format_exc())
        pipe.send(answer)
    if dist.is_initialized():
        dist.destroy_process_group()

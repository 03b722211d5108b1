"""What an all-gather matmul takes on ranks that need not exist: hosts with links, or TPU chips."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from collective_matmul import _core
from collective_matmul._arguments import Int32, checked
from collective_matmul._dtypes import dtype_name
from collective_matmul._results import copied, percent_text, seconds_text, table, timeline_of
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.timeline import Timeline

__all__ = ["RankSimulation", "SimulatedBound", "SimulatedLink", "simulate"]


@dataclass(frozen=True)
class SimulatedBound:
    """max(multiply, transfer) + first_chunk + last_chunk: what is asked of an overlap."""

    seconds: float
    multiply_seconds: float  # of one rank, all rows at once
    transfer_seconds: float  # every row once into whom it is missing, over all its links
    first_chunk_seconds: float  # the first chunk of another rank, alone on its way
    last_chunk_seconds: float  # one chunk's share of the product


@dataclass(frozen=True)
class SimulatedLink:
    name: str
    num_alike: int  # links that carry as much at all times, this one among them
    bytes: int  # over this one
    busy: float  # share of the time that these bytes take at its full rate


@dataclass(frozen=True)
class RankSimulation:
    """Times are of the rank that ends last; multiply_seconds and the four idle times add up to
    ``seconds``."""

    algorithm: str
    pieces: int
    num_chunks: int  # of the whole x
    reason: str  # why this algorithm
    seconds: float
    bound: SimulatedBound
    share_of_bound: float  # bound / seconds
    gather_seconds: float  # the same gather without a product
    multiply_seconds: float
    exposed_seconds: float  # the sum of
    idle_transfer_seconds: float  # waiting for bytes that are on their way,
    idle_latency_seconds: float  # for a message that has left or must be told of,
    idle_upstream_seconds: float  # for a sender that has not got the chunk itself yet,
    idle_slot_seconds: float  # for a free slot
    last_rank: int
    num_walked: int  # ranks that were walked and stand for all others
    links: list[SimulatedLink] = field(repr=False)  # that carry anything, the busiest first
    timeline: Timeline | None = field(repr=False)  # of the last rank and its neighbours

    def __str__(self) -> str:
        text = seconds_text
        bound = self.bound
        return table(
            [
                ("algorithm", f"{self.algorithm}, pieces {self.pieces}, chunks {self.num_chunks}"),
                ("because", self.reason),
                ("time", f"{text(self.seconds)}, {percent_text(self.share_of_bound)} of the bound"),
                (
                    "bound",
                    f"{text(bound.seconds)}: multiply {text(bound.multiply_seconds)} or transfer "
                    f"{text(bound.transfer_seconds)}, first chunk "
                    f"{text(bound.first_chunk_seconds)}, last chunk "
                    f"{text(bound.last_chunk_seconds)}",
                ),
                ("multiply", text(self.multiply_seconds)),
                (
                    "exposed",
                    f"{text(self.exposed_seconds)} of the gather's {text(self.gather_seconds)}: "
                    f"transfer {text(self.idle_transfer_seconds)}, latency "
                    f"{text(self.idle_latency_seconds)}, upstream "
                    f"{text(self.idle_upstream_seconds)}, slot {text(self.idle_slot_seconds)}",
                ),
            ]
            + [
                ("link", f"{link.name}, {link.num_alike} alike: busy {percent_text(link.busy)}")
                for link in self.links[:3]
            ]
        )


@checked
def simulate(
    *,
    m: int,
    k: int,
    n: int,
    ranks: Int32,
    dtype: Any = "bf16",
    hosts: Int32 | None = None,
    chip: str | None = None,
    slice: Sequence[Int32] = (),
    algorithm: str = "auto",
    pieces: Int32 = 0,
    timeline: bool = False,
    bytes_per_second: float | None = None,
    latency_seconds: float | None = None,
    rank_flops: float | None = None,
    memory_bytes_per_second: float | None = None,
) -> RankSimulation:
    """Walks the schedule of every rank with a clock. Not collective.

    Args:
        m, k, n: extents of x [m, k] and y [k, n], of all ranks.
        ranks: up to 4096; that takes seconds.
        dtype: of x and y: float32, float16 or bfloat16.
        hosts: that hold the ranks, consecutive ones each; default: as many as ranks, or one slice.
        chip: simulates chips of a TPU slice, one rank each, in place of hosts: "v4", "v5e", "v5p",
            "v6e" or "7x".
        slice: chips along each axis of the slice; default: the usual slice of so many.
        algorithm: "auto", "direct", "ring", "bidirectional", "recursive_doubling" or
            "hierarchical". "auto": on hosts what a plan chooses, on a slice the fastest.
        pieces: chunks of a rank's rows; 0: decided.
        timeline: record one.
        bytes_per_second, latency_seconds: of the network between hosts: into one host, and out of
            it at the same time; of one message. Default: 10 Gbit/s Ethernet.
        rank_flops: floating-point operations per second of each rank on hosts, a multiply-add
            counting as two. Default: bf16 on one Zen 5 core.
        memory_bytes_per_second: of a host, for all its ranks. Default: a small machine's.

    Raises:
        InvalidArgumentError; UnsupportedError where a chip does not multiply the type.
    """
    problem = _core.SimulatedProblem(
        num_ranks=ranks,
        m=m,
        k=k,
        n_local=-(-n // ranks) if ranks > 0 else n,
        dtype=dtype_name(dtype, "dtype"),
        algorithm=algorithm,
        pieces=pieces,
        timeline=timeline,
    )
    rates = {
        "bytes_per_second": bytes_per_second,
        "latency_seconds": latency_seconds,
        "rank_flops": rank_flops,
        "memory_bytes_per_second": memory_bytes_per_second,
    }
    given = {name: rate for name, rate in rates.items() if rate is not None}
    if chip is None:
        if slice:
            raise InvalidArgumentError(f"slice is {tuple(slice)}, which needs a chip, as 'v6e'")
        core = _core.simulate_hosts(problem, ranks if hosts is None else hosts, **given)
    else:
        if given:
            raise InvalidArgumentError(f"{', '.join(given)}: of hosts; a chip has its own")
        core = _core.simulate_slice(problem, chip, list(slice), 1 if hosts is None else hosts)
    return copied(
        RankSimulation,
        core,
        bound=copied(SimulatedBound, core.bound),
        links=[copied(SimulatedLink, link) for link in core.links],
        timeline=timeline_of(core.timeline, timeline),
    )

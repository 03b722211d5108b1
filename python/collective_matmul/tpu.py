"""Kernels for TPUs, timed by a model of the chip and proved on virtual devices; no TPU is needed.

    out [m, n / P] on each device = all_gather(x) [m, k] @ y [k, n / P]
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from collective_matmul import _core
from collective_matmul._arguments import Int32, UInt64, checked
from collective_matmul._dtypes import numpy_name
from collective_matmul._results import copied, percent_text, seconds_text, table, timeline_of
from collective_matmul.timeline import Timeline

__all__ = ["Bound", "KernelTimes", "Simulation", "Verification", "chips", "simulate", "verify"]


def chips() -> list[str]:
    """Names of the chips whose data the library has: "v4" to "7x"."""
    return _core.tpu.chips()


@dataclass(frozen=True)
class Bound:
    """No schedule can be faster than the slowest of these: of what is asked, not its padding."""

    seconds: float  # the largest of
    mxu_seconds: float  # all products at the MXUs' peak
    link_seconds: float  # (P - 1) / P of x into a device, both directions at full rate
    hbm_seconds: float  # every operand read once, every result written once


@dataclass(frozen=True)
class KernelTimes:
    """Of one device; all devices of a ring are alike. The parts from mxu_seconds to tail_seconds
    add up to ``seconds``."""

    schedule: str  # "reference", "wavefront" or "sequential"
    seconds: float
    share_of_bound: float  # bound / seconds
    mxu_share: float  # of ``seconds``, that products at the MXUs' peak take
    mxu_seconds: float  # multiplying
    control_seconds: float  # filling and draining the MXU, reading the table, starting copies
    idle_x_seconds: float  # waiting for rows of x ...
    idle_y_seconds: float  # ... for blocks of y
    idle_out_seconds: float  # ... for a free output slot
    idle_other_seconds: float  # ... for neighbours to enter, credits, departures
    tail_seconds: float  # after the last product
    exposed_seconds: float  # of these, what the gather of x causes
    hbm_busy: float  # shares of ``seconds``
    link_busy: float  # of the busier direction
    num_steps: int
    num_semaphores: int
    vmem_bytes: int
    parameters: str  # of the kernel, for simulate and verify
    timeline: Timeline | None = field(repr=False)  # of a device and its neighbours


@dataclass(frozen=True)
class Simulation:
    """``kernels`` has one for each schedule that can be had; of the others ``refused`` says why."""

    bound: Bound
    kernels: dict[str, KernelTimes]  # by schedule
    refused: dict[str, str]  # by schedule
    chosen: str  # what was asked for; of "auto" the fastest

    @property
    def seconds(self) -> float:
        """Of the schedule chosen."""
        return self.kernels[self.chosen].seconds

    @property
    def timeline(self) -> Timeline | None:
        """Of the schedule chosen."""
        return self.kernels[self.chosen].timeline

    def __str__(self) -> str:
        lines = [
            (
                name,
                f"{seconds_text(times.seconds)}, {percent_text(times.share_of_bound)} of the "
                f"bound; multiply {seconds_text(times.mxu_seconds)}, exposed "
                f"{seconds_text(times.exposed_seconds)}"
                + (", chosen" if name == self.chosen else ""),
            )
            for name, times in self.kernels.items()
        ]
        lines += [(name, f"refused: {why}") for name, why in self.refused.items()]
        bound = self.bound
        lines.append(
            (
                "bound",
                f"{seconds_text(bound.seconds)}: MXU {seconds_text(bound.mxu_seconds)}, links "
                f"{seconds_text(bound.link_seconds)}, HBM {seconds_text(bound.hbm_seconds)}",
            )
        )
        return table(lines)


@dataclass(frozen=True)
class Verification:
    """The verdict of many runs with real data on virtual devices that are nastier than real ones.
    True where the kernel is right."""

    right: bool
    proved: bool  # not only these runs: however copies progress, no run can differ
    fault: str  # of the first run that went wrong: "race", "deadlock", "wrong element", ...
    text: str  # what happened; of a deadlock a table of who waits for what
    run: str  # how that run was made
    mutant: str  # the fault that was put in
    kernel: str  # name, as a profiler shows it
    schedule: str
    parameters: str
    num_runs: int
    seconds: float

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        if not self.right:
            return f"WRONG: {self.kernel}: {self.fault}\n{self.text}\nin the run: {self.run}"
        proved = "; no other order is possible" if self.proved else ""
        return (
            f"RIGHT: {self.kernel}: {self.num_runs} runs in {seconds_text(self.seconds)}, every "
            f"bit compared{proved}"
        )


@checked
def simulate(
    *,
    m: int,
    k: int,
    n: int | Sequence[int],
    devices: Int32 | Sequence[Int32] = 8,
    axis: Int32 = 0,
    dtype: Any = "bfloat16",
    out_dtype: Any = None,
    rhs_transpose: bool = False,
    gathered: bool = False,
    chip: str = "v6e",
    slice: Sequence[Int32] = (),
    schedule: str = "auto",
    bn: int = 0,
    bk: int = 0,
    parameters: str = "",
    copy_bytes_per_second: float = 0,
    num_candidates: Int32 = 0,
    seed: UInt64 = 1,
    timeline: bool = False,
) -> Simulation:
    """How long the kernels take, by a model of the chip. All schedules are timed side by side.

    Args:
        m, k, n: extents of x [m, k] and y [k, n], of all devices; n of each right side.
        devices: on one ring; or the sizes of a mesh, row-major, whose ring runs along ``axis``.
        dtype: "float32", "bfloat16", "float8_e4m3fn" or "int8".
        out_dtype: "float32", "int32" of int8, or as dtype, its default.
        rhs_transpose: y is [n, k].
        gathered: all of x is a result, too.
        chip: one of ``chips()``.
        slice: chips that the ring lies on, as (2, 4); default: the usual slice.
        schedule: "auto", "reference", "wavefront" or "sequential" (gather first, then one product).
        bn, bk: blocks of the reference kernel; 0: as tuned.
        parameters: of the wavefront kernel, as a result has them; "": the best known.
        copy_bytes_per_second: most that one copy can draw of HBM; 0: all that is free.
        num_candidates: that a search tries for the wavefront kernel, begun with ``seed``.
        timeline: record one of each kernel.

    Raises:
        InvalidArgumentError; UnsupportedError where a named schedule, or all, cannot be had.
    """
    core = _core.tpu.simulate(
        _problem(m, k, n, devices, axis, dtype, out_dtype, rhs_transpose, gathered),
        chip,
        _core.tpu.KernelOptions(schedule=schedule, bn=bn, bk=bk, parameters=parameters),
        list(slice),
        copy_bytes_per_second,
        num_candidates,
        seed,
        timeline,
    )
    refused = {name: getattr(core, f"{name}_refused") for name in
               ("reference", "wavefront", "sequential")}
    return Simulation(
        bound=copied(Bound, core.bound),
        kernels={
            times.schedule: copied(
                KernelTimes, times, timeline=timeline_of(times.timeline, timeline)
            )
            for times in core.kernels
        },
        refused={name: why for name, why in refused.items() if why},
        chosen=core.chosen,
    )


@checked
def verify(
    *,
    m: int,
    k: int,
    n: int | Sequence[int],
    devices: Int32 | Sequence[Int32] = 8,
    axis: Int32 = 0,
    dtype: Any = "bfloat16",
    out_dtype: Any = None,
    rhs_transpose: bool = False,
    gathered: bool = False,
    chip: str = "v6e",
    schedule: str = "auto",
    bn: int = 0,
    bk: int = 0,
    parameters: str = "",
    num_interleavings: Int32 = 32,
    seed: UInt64 = 1,
    mutant: Int32 | None = None,
) -> Verification:
    """Runs a kernel on virtual devices and compares every bit of its results.

    Args:
        as of ``simulate``; "auto" is the wavefront kernel, or the reference kernel where bn or bk
            is given.
        num_interleavings: random runs, begun with ``seed``, on top of a fixed set of nasty ones.
        mutant: number of a small fault to put into the kernel first: a verdict that cannot fail
            proves nothing.

    Raises:
        InvalidArgumentError; UnsupportedError where the kernel cannot be had on this chip.
    """
    core = _core.tpu.verify(
        _problem(m, k, n, devices, axis, dtype, out_dtype, rhs_transpose, gathered),
        chip,
        _core.tpu.KernelOptions(schedule=schedule, bn=bn, bk=bk, parameters=parameters),
        seed,
        num_interleavings,
        mutant,
    )
    return verification_of(core)


def verification_of(core: _core.tpu.Verification) -> Verification:
    return copied(
        Verification,
        core,
        kernel=core.kernel.name,
        schedule=core.kernel.schedule,
        parameters=core.kernel.parameters,
    )


def _problem(
    m: int,
    k: int,
    n: int | Sequence[int],
    devices: int | Sequence[int],
    axis: int,
    dtype: Any,
    out_dtype: Any,
    rhs_transpose: bool,
    gathered: bool,
) -> _core.tpu.Problem:
    return _core.tpu.Problem(
        mesh=[devices] if isinstance(devices, int) else list(devices),
        axis=axis,
        m=m,
        k=k,
        n=[n] if isinstance(n, int) else list(n),
        dtype=_name(dtype, "dtype"),
        out_dtype=None if out_dtype is None else _name(out_dtype, "out_dtype"),
        rhs_transpose=rhs_transpose,
        gathered=gathered,
    )


def _name(dtype: Any, what: str) -> str:
    return dtype if isinstance(dtype, str) else numpy_name(dtype, what)

"""Ranks and the axes they lie on."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from collective_matmul import _core
from collective_matmul._arguments import Int32, checked
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul._dtypes import dtype_name, dtype_of
from collective_matmul._shapes import bytes_of
from collective_matmul.errors import InvalidArgumentError, MeshDeadError, PeerFailedError

Result = TypeVar("Result")


class Axis:
    """One rank's handle on one axis of its mesh: the ranks that differ in that coordinate only.

    A collective call on an axis is made by all of its ranks. ``Mesh.axis`` makes these.
    """

    def __init__(self, core: _core.Axis, mesh: _core.Mesh) -> None:
        self._core = core
        self._mesh = mesh

    @property
    def rank(self) -> int:
        """Position of this rank on the axis, from 0."""
        return self._core.rank

    @property
    def num_ranks(self) -> int:
        return self._core.num_ranks

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def transport(self) -> str:
        """How the ranks reach each other: "threads" or "shared memory"."""
        return self._core.transport

    @checked
    def exchange(self, data: bytes, deadline_seconds: float = DEADLINE_SECONDS) -> list[bytes]:
        """Collective: gives some bytes and returns those of all ranks, by rank.

        Raises:
            BusyError, DeadlineError, PeerFailedError, MeshDeadError, InvalidArgumentError.
        """
        return self._core.exchange(data, deadline_seconds)

    @checked
    def barrier(self, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """Collective: returns once every rank of the axis has called it. Raises as exchange."""
        self._core.barrier(deadline_seconds)

    def history(self) -> str:
        """What this rank did last on the axis, a line for each of its last 64 operations."""
        return self._core.history()

    def __repr__(self) -> str:
        return f"<Axis {self.name!r}: rank {self.rank} of {self.num_ranks}, {self.transport}>"


class Mesh:
    """One rank's place in a grid of named axes. Ranks count row-major: the last axis is fastest."""

    def __init__(self, core: _core.Mesh) -> None:
        self._core = core

    @staticmethod
    @checked
    def threads(axes: Int32 | Mapping[str, Int32]) -> list["Mesh"]:
        """Ranks that are threads of this process: element r is for the thread of rank r.

        ``run_ranks`` starts such threads and is what most programs want.

        Args:
            axes: size by name, slowest first; a number is one axis "tp" of that size.
        """
        return [Mesh(core) for core in _core.Mesh.threads(_sizes(axes))]

    @staticmethod
    @checked
    def processes(
        axes: Int32 | Mapping[str, Int32],
        *,
        socket: str,
        rank: Int32,
        num_ranks: Int32,
        token: str = "",
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> "Mesh":
        """This process as one rank of a mesh of processes of this host. Collective.

        Args:
            axes: as of ``threads``; the sizes multiply to num_ranks.
            socket: where the ranks meet: a path in a folder that only this user writes, or "@" and
                an abstract name.
            token: known to all ranks and nobody else, at most 64 bytes: keeps two jobs apart.
            deadline_seconds: for all ranks to have come.

        Raises:
            InvalidArgumentError, DeadlineError, PeerFailedError, OutOfMemoryError,
            UnsupportedError, IoError: the same on all ranks, naming the rank at fault.
        """
        return Mesh(
            _core.Mesh.processes(_sizes(axes), socket, rank, num_ranks, token, deadline_seconds)
        )

    @staticmethod
    @checked
    def from_environment(
        axes: Int32 | Mapping[str, Int32], deadline_seconds: float = DEADLINE_SECONDS
    ) -> "Mesh":
        """The same where the environment says which rank this is: under ``cmm launch``, or with
        CMM_SOCKET, CMM_RANK and CMM_NUM_RANKS set by hand. Collective. Without them, a mesh of
        this process alone where the axes have one rank in all, else InvalidArgumentError.
        """
        return Mesh(_core.Mesh.from_environment(_sizes(axes), deadline_seconds))

    @property
    def rank(self) -> int:
        return self._core.rank

    @property
    def num_ranks(self) -> int:
        return self._core.num_ranks

    @property
    def axes(self) -> dict[str, int]:
        """Size of each axis by its name."""
        return dict(self._core.axes)

    @checked
    def axis(self, name: str | None = None) -> Axis:
        """This rank's handle on an axis; without a name, on the only one there is."""
        if name is None:
            names = list(self.axes)
            if len(names) != 1:
                raise InvalidArgumentError(f"this mesh has the axes {names}; name one of them")
            name = names[0]
        return Axis(self._core.axis(name), self._core)

    @checked
    def empty(self, shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
        """A row-major array in memory that peers of the same host read in place, 64-byte aligned.

        Ranks that are processes copy x_local once where it lies elsewhere; ranks that are threads
        never do. Not collective. Raises OutOfMemoryError with needed and present bytes.
        """
        element = dtype_of(dtype_name(dtype, "dtype"))
        memory = self._core.allocate(bytes_of(shape, element.itemsize))
        return np.asarray(_SharedBytes(memory)).view(element).reshape(shape)

    @checked
    def abort(self, reason: str) -> None:
        """Takes this rank out of every axis: peers that wait for it, or come to wait for it later,
        get PeerFailedError with the reason. Not collective; any thread may call it.
        """
        self._core.abort(reason)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.axes.items())
        return f"<Mesh {{{axes}}}: rank {self.rank} of {self.num_ranks}>"


class _SharedBytes:
    """Keeps the memory alive as long as an array uses it."""

    def __init__(self, memory: _core.Memory) -> None:
        self._memory = memory
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (memory.bytes,),
            "data": (memory.address, False),
        }


def _sizes(axes: Int32 | Mapping[str, Int32]) -> list[tuple[str, int]]:
    return list(axes.items()) if isinstance(axes, Mapping) else [("tp", axes)]


@checked
def run_ranks(ranks: Int32 | Mapping[str, Int32], body: Callable[[Mesh], Result]) -> list[Result]:
    """Runs body(mesh) on one new thread per rank and returns what each returned, by rank.

    Calls of the library release the GIL, so the ranks multiply at the same time. A rank that raises
    takes its peers out of their calls; raised here is the exception of the rank that failed first.
    Ctrl-C ends the calls of all ranks.

    Args:
        ranks: size by name of each axis, slowest first; a number is one axis "tp" of that size.
    """
    meshes = Mesh.threads(ranks)
    results: list[Any] = [None] * len(meshes)
    failures: list[BaseException] = []  # in the order in which they came

    def run(mesh: Mesh) -> None:
        try:
            results[mesh.rank] = body(mesh)
            mesh._core.leave()
        except BaseException as error:
            failures.append(error)
            mesh.abort(f"{type(error).__name__}: {error}")

    threads = [
        # A second Ctrl-C ends the program although a rank does not heed the first.
        threading.Thread(target=run, args=(mesh,), name=f"rank {mesh.rank}", daemon=True)
        for mesh in meshes
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as error:
        for mesh in meshes:
            mesh.abort(f"{type(error).__name__}: {error}")
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        raise
    if failures:
        try:
            raise _cause(failures)
        finally:
            failures.clear()  # else they keep the frames of the ranks alive, and those keep them
    return results


def _cause(failures: list[BaseException]) -> BaseException:
    """The first that is not the echo of another: a rank whose call failed may come to know of it
    after its peers."""
    for failure in failures:
        if not isinstance(failure, PeerFailedError | MeshDeadError):
            return failure
    return failures[0]

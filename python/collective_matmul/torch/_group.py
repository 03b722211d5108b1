"""A process group as a mesh: made when it is first needed, and again after a failure.

The processes of a group meet through the group's store, so any backend will do. Each meeting has a
number, which every process counts alike: one meeting when the mesh is first needed and one after
each failure, which every process sees exactly once.
"""

from __future__ import annotations

import atexit
import contextlib
import datetime
import json
import os
import threading
import time
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch.distributed as dist
from torch.distributed import distributed_c10d

from collective_matmul import _core
from collective_matmul.errors import (
    BusyError,
    DeadlineError,
    InvalidArgumentError,
    PeerFailedError,
    UnsupportedError,
)

# Part of a message of the extension module: as an error it is one of many mistakes of callers.
_OUT_OF_ORDER = "disagree on the order of calls"
_SECONDS_FOR_WORDS = 2.0  # that a rank waits for others to say what they called

_MAX_PLANS = 16  # of a group; each holds its workspace and its helper threads

_meetings: dict[str, int] = {}  # by the name of a group, which may be made again
# By the store of a group, an object that goes when the group is destroyed. The group itself may
# stay: compiled code refers to it, for one.
_all_ranks: weakref.WeakKeyDictionary[dist.Store, Ranks] = weakref.WeakKeyDictionary()


class PlanKey(NamedTuple):
    """What a plan is made for. All ranks must ask alike, but for n_local and threads."""

    m: int
    rows: tuple[int, ...]  # of x on each rank; empty: as even_rows() says
    k: int
    n_local: tuple[int, ...]
    dtype: str
    out_dtype: str
    activations: tuple[str, ...]
    swiglu: bool
    algorithm: str
    threads: int
    deadline_seconds: float
    native_bf16: bool


def even_rows(m: int, num_ranks: int) -> list[int]:
    """m rows split over the ranks as a plan does that was told nothing else."""
    return [m // num_ranks + (rank < m % num_ranks) for rank in range(num_ranks)]


class Ranks:
    """This process as one rank of a process group: its mesh and the plans made on it."""

    def __init__(self, group: dist.ProcessGroup, name: str, store: dist.Store) -> None:
        self.name = name
        self.rank = group.rank()
        self.num_ranks = group.size()
        self._store = dist.PrefixStore("collective_matmul", store)  # does not hold the object
        self._mesh: _core.Mesh | None = None
        self._plans: OrderedDict[PlanKey, _core.Plan] = OrderedDict()
        self._num_calls = 0
        self._asked: PlanKey | None = None  # for this call
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def call(self, *, counted: bool = True) -> Iterator[None]:
        """Around every collective operation. What fails within ends the mesh for all ranks.

        Raises BusyError where another thread of the process is in a call on the same group.
        """
        if not self._lock.acquire(blocking=False):
            raise BusyError(
                f"rank {self.rank} of {self} is in a call already; one call at a time on a group",
                self.rank,
            )
        meeting = _meetings.get(self.name, 0)  # the next one
        try:
            self._num_calls += counted
            self._asked = None
            yield
        except BaseException as error:
            if self._asked is not None and _OUT_OF_ORDER in str(error):
                error.args = (f"{error}; {self._what_differs(self._asked)}",)
            reason = str(error) or type(error).__name__
            if self._mesh is not None:
                # Not abort(): a peer may still be at work on the call before this one.
                self._mesh.leave(reason)
            elif _meetings.get(self.name, 0) == meeting:
                self._stay_away(reason, getattr(error, "rank", -1))
            self.close()
            raise
        finally:
            self._lock.release()

    def mesh(self, deadline_seconds: float) -> _core.Mesh:
        """The mesh; collective where there is none yet. Within call() only."""
        if not deadline_seconds > 0:
            raise InvalidArgumentError(
                f"deadline_seconds is {deadline_seconds}; it must be above 0"
            )
        if self._mesh is None:
            if self.num_ranks == 1:
                [self._mesh] = _core.Mesh.threads([("ranks", 1)])
            else:
                self._mesh = self._meet(deadline_seconds)
        return self._mesh

    def plan(self, key: PlanKey) -> _core.Plan:
        """A plan that serves key; collective where there is none yet. Within call() only.

        An even split of fewer rows is served by the plan for more, so one is made per power of two.
        Which plans are kept depends on the sequence of calls alone, which all ranks share.
        """
        mesh = self.mesh(key.deadline_seconds)
        self._asked = key
        if not key.rows:
            key = key._replace(m=1 << max(0, key.m - 1).bit_length())
        if key in self._plans:
            self._plans.move_to_end(key)
            return self._plans[key]
        plan = _core.Plan.make(mesh.axis("ranks"), **key._asdict())
        self._plans[key] = plan
        if len(self._plans) > _MAX_PLANS:
            self._plans.popitem(last=False)
        return plan

    def _what_differs(self, mine: PlanKey) -> str:
        """Between the ranks' calls, all of which have come to know that they are not alike."""
        meeting = _meetings.get(self.name, 0)  # the next one, of which all ranks think alike
        everyone = {self.rank: mine._asdict()}
        until = time.monotonic() + min(mine.deadline_seconds, _SECONDS_FOR_WORDS)
        with contextlib.suppress(RuntimeError):  # of the store
            self._store.set(f"{meeting}/call/{self.rank}", json.dumps(mine._asdict()))
            for rank in range(self.num_ranks):
                key = f"{meeting}/call/{rank}"
                while not self._store.check([key]) and time.monotonic() < until:
                    time.sleep(1e-3)
                if self._store.check([key]):
                    everyone[rank] = json.loads(self._store.get(key))
        differing = [
            name for name in mine._fields if len({str(it[name]) for it in everyone.values()}) > 1
        ]
        if not differing:
            return "the calls have the same arguments, so the ranks are at different ones"
        calls = [
            f"rank {rank} calls with " + ", ".join(f"{name}={it[name]}" for name in differing)
            for rank, it in sorted(everyone.items())
        ]
        return (
            f"{'; '.join(calls)}. All ranks must change their arguments from call to call "
            "together, those that may differ between ranks, too"
        )

    def close(self) -> None:
        """Gives back all that the mesh holds. Peers that wait for this rank hear that it left."""
        self._plans.clear()
        self._mesh = None

    def __str__(self) -> str:
        return f"process group '{self.name}'"

    def _meet(self, deadline_seconds: float) -> _core.Mesh:
        deadline = time.monotonic() + deadline_seconds
        number = _meetings.get(self.name, 0)
        mine = {
            "calls": self._num_calls,
            "host": _host(),
            "socket": f"@collective-matmul-{uuid.uuid4()}",
            "token": uuid.uuid4().hex,
        }
        everyone = self._exchange(number, mine, deadline)
        # From here on all ranks know the same and fail, or do not, alike.
        _meetings[self.name] = number + 1
        for rank, theirs in enumerate(everyone):
            self._check(everyone[0], rank, theirs)
        mesh = _core.Mesh.processes(
            [("ranks", self.num_ranks)],
            socket=everyone[0]["socket"],
            rank=self.rank,
            num_ranks=self.num_ranks,
            token=everyone[0]["token"],
            deadline_seconds=max(1e-3, deadline - time.monotonic()),
        )
        # All have read what each has written, and what each called before it came here. Not every
        # store can delete.
        with contextlib.suppress(RuntimeError, NotImplementedError):
            self._store.delete_key(f"{number}/{self.rank}")
            self._store.delete_key(f"{number}/call/{self.rank}")
        return mesh

    def _exchange(
        self, number: int, mine: dict[str, Any], deadline: float
    ) -> list[dict[str, Any]]:
        everyone = []
        try:
            self._store.set(f"{number}/{self.rank}", json.dumps(mine))
            for rank in range(self.num_ranks):
                key = f"{number}/{rank}"
                while not self._store.check([key]):
                    if time.monotonic() > deadline:
                        raise DeadlineError(
                            f"rank {rank} of {self} has not come to the call within the deadline",
                            rank,
                        )
                    # A wait of the store itself would log a stack trace when it ends.
                    time.sleep(1e-3)
                theirs = json.loads(self._store.get(key))
                if "failed" in theirs:
                    raise PeerFailedError(
                        f"rank {rank} of {self}: {theirs['failed']}", theirs["rank_at_fault"]
                    )
                everyone.append(theirs)
        except RuntimeError as error:  # of the store
            raise PeerFailedError(f"the store of {self} cannot be reached: {error}") from error
        return everyone

    def _check(self, first: dict[str, Any], rank: int, theirs: dict[str, Any]) -> None:
        if theirs["host"] != first["host"]:
            raise UnsupportedError(
                f"rank {rank} of {self} is on another host (or in another container) than rank 0; "
                "a process group works here on one host. Between hosts, start C++ ranks with "
                "mpirun and make their mesh by <cmm/mpi.hpp>, or gather within each host only",
                rank,
            )
        if theirs["calls"] != first["calls"]:
            raise InvalidArgumentError(
                f"the ranks of {self} are out of step since a call failed: rank 0 makes call "
                f"{first['calls']} and rank {rank} call {theirs['calls']}; make a new group",
                rank,
            )

    def _stay_away(self, reason: str, rank_at_fault: int) -> None:
        """Tells peers that come to this meeting why this rank does not."""
        number = _meetings.get(self.name, 0)
        _meetings[self.name] = number + 1
        if self.num_ranks > 1:
            told = {
                "failed": reason,
                "rank_at_fault": self.rank if rank_at_fault < 0 else rank_at_fault,
            }
            with contextlib.suppress(RuntimeError):
                self._store.set(f"{number}/{self.rank}", json.dumps(told))


def ranks_of(name: str) -> Ranks:
    """The ranks of the process group of that name, of which this process is one."""
    try:
        group = distributed_c10d._resolve_process_group(name)
        store = distributed_c10d._get_process_group_store(group)
    except (KeyError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(f"there is no process group '{name}'") from error
    ranks = _all_ranks.get(store)
    if ranks is None:
        ranks = _all_ranks[store] = Ranks(group, name, store)
    return ranks


def refuse(group: dist.ProcessGroup | str | None, error: Exception) -> None:
    """Counts a call that was refused before it began, and ends the mesh: peers may wait in it."""
    with contextlib.suppress(Exception), ranks_of(name_of(group)).call():
        raise error


def name_of(group: dist.ProcessGroup | str | None) -> str:
    """The name of a group, the default group's for None."""
    if isinstance(group, str):
        return group
    if group is None:
        if not dist.is_initialized():
            raise InvalidArgumentError(
                "there is no default process group; call torch.distributed.init_process_group"
            )
        group = dist.group.WORLD
    if not isinstance(group, dist.ProcessGroup):
        raise InvalidArgumentError(f"group is {group!r}; this process is no rank of it")
    return group.group_name


@atexit.register
def _close_all() -> None:
    for ranks in list(_all_ranks.values()):
        ranks.close()


def _host() -> list[str]:
    """Equal for processes that can share memory and an abstract socket."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    return [boot, *(os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid"))]


def seconds(deadline_seconds: float) -> datetime.timedelta:
    """For torch.distributed, which counts in whole milliseconds and takes 0 for no limit."""
    return datetime.timedelta(seconds=max(1e-3, deadline_seconds))

"""Weights, plans and calls of one rank."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from collective_matmul import _core
from collective_matmul._arguments import Int32, checked, class_name, has_begun, shown
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul._dtypes import dtype_name, dtype_of, name_of_array
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.numpy._arrays import row_major, strided
from collective_matmul.numpy._mesh import Axis

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Weights:
    """One rank's columns of one right side, y [k, n_local], packed or a view."""

    def __init__(self, core: _core.Weights, dtype: np.dtype, *viewed: np.ndarray) -> None:
        self._core = core
        self._dtype = dtype
        self._viewed = viewed  # kept alive

    @staticmethod
    @checked
    def pack(
        y: np.ndarray,
        *,
        transposed: bool = False,
        bias: np.ndarray | Sequence[float] | None = None,
        engine: str = "auto",
    ) -> "Weights":
        """Copies y into panels, once per layer; y is not needed afterwards. Not collective.

        Args:
            y: [k, n_local], or [n_local, k] if transposed; float32, float16 or bfloat16; any
                strides.
            bias: [n_local], added to every row of the product before the activation, in float32.
            engine: "own", whose result is defined bit by bit, "onednn" where this build has it, or
                "auto".

        Raises:
            InvalidArgumentError, OutOfMemoryError, UnsupportedError.
        """
        matrix = strided(y, "y")
        added = bias_row(bias, y, transposed)
        floats = [] if added is None else added.tolist()
        return Weights(_core.Weights.pack(matrix, transposed, floats, engine), y.dtype)

    @staticmethod
    @checked
    def view(
        y: np.ndarray,
        *,
        transposed: bool = False,
        bias: np.ndarray | Sequence[float] | None = None,
    ) -> "Weights":
        """Refers to y where it lies, for a y that comes anew with each call. Not collective.

        y must stay unchanged while a call uses it. Each call packs it block by block in cache; the
        result has the bits of packed weights. Arguments and errors as of ``pack``.
        """
        matrix = strided(y, "y")
        added = bias_row(bias, y, transposed)
        if added is None:
            return Weights(_core.Weights.view(matrix, transposed), y.dtype, y)
        row = row_major(added[None], "bias")
        return Weights(_core.Weights.view(matrix, transposed, row), y.dtype, y, added)

    @property
    def k(self) -> int:
        return self._core.k

    @property
    def n(self) -> int:
        return self._core.n

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def bytes(self) -> int:
        """Memory that packed y holds; 0 for a view."""
        return self._core.bytes

    @property
    def engine(self) -> str:
        return self._core.engine

    def __repr__(self) -> str:
        return f"<Weights [{self.k}, {self.n}] {self.dtype}, engine {self.engine!r}>"


def _ends_the_mesh(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Of a call that fits no signature the peers hear as of any other that is refused."""

    @functools.wraps(method)
    def call(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return method(*args, **options)
        except TypeError as error:
            if not has_begun(error):
                args[0]._axis._mesh.abort(str(error))
            raise

    return call


class Plan:
    """One rank's handle on everything that a product of one shape needs. ``plan`` makes these.

    A plan runs one call at a time.
    """

    def __init__(
        self,
        core: _core.Plan,
        axis: Axis,
        m: int,
        k: int,
        n_out: tuple[int, ...],
        dtype: str,
        out_dtype: str,
        swiglu: bool,
    ) -> None:
        self._core = core
        self._axis = axis
        self._m = m
        self._k = k
        self._n_out = n_out  # columns of each result
        self._dtype = dtype_of(dtype)
        self._out_dtype = dtype_of(out_dtype)
        self._swiglu = swiglu

    @property
    def axis(self) -> Axis:
        return self._axis

    @property
    def m(self) -> int:
        """Rows of the gathered x, at most."""
        return self._m

    @property
    def algorithm(self) -> str:
        """What has been chosen: "direct", "ring", "bidirectional", "recursive_doubling", ..."""
        return self._core.algorithm

    @checked
    def rows_of(self, rank: Int32, m: int | None = None) -> int:
        """Rows of x that a rank holds when the whole x has m rows (default: the plan's)."""
        return self._core.rows_of(rank, self._m if m is None else m)

    def explain(self) -> _core.Explanation:
        """What was chosen and why, and what a call is expected to cost. Not collective.

        The first explanation in a process measures the machine, which takes most of a second.
        """
        return self._core.explain()

    def picture(self) -> str:
        """Who sends which chunk to whom in which step. InvalidArgumentError for over 8 ranks."""
        return self._core.picture()

    @_ends_the_mesh
    def __call__(
        self,
        x_local: np.ndarray,
        y: Weights | Sequence[Weights],
        out: np.ndarray | Sequence[np.ndarray] | None = None,
        *,
        gathered: np.ndarray | None = None,
        m: int | None = None,
    ) -> Any:
        """out = epilogue(all_gather(x) @ y). Collective over the plan's axis.

        Peers read x_local while the call runs and no longer once it has returned.

        Args:
            x_local: [rows_of(rank, m), k], this rank's rows; elements of a row side by side.
            y: one for each right side.
            out: [m, n_local] for each right side (SwiGLU: one), to be overwritten; rows may have
                any distance; must not overlap x_local of any rank, each other or gathered. Made
                where it is not given.
            gathered: [m, k], of the dtype of x: receives the gathered x in rank order.
            m: rows of the gathered x, at most the plan's; default: those of out, or the plan's.

        Returns:
            out; an array where y is one Weights, or with SwiGLU, else a tuple.

        Raises:
            InvalidArgumentError: before any data of this call moves. The mesh is then dead for all
                ranks at once, since peers may wait already: they get PeerFailedError with the
                reason, also where they are still in the call before.
            BusyError, DeadlineError, PeerFailedError, MeshDeadError.
        """
        try:
            sides = [side._core for side in _list_of(y, Weights, "y")]
            x = row_major(x_local, "x_local")
            if m is not None:
                self.rows_of(0, m)  # refuses what is no m of this plan
            if out is None:
                rows = self._m if m is None else m
                outs = [np.empty((rows, n), self._out_dtype) for n in self._n_out]
            else:
                outs = _list_of(out, np.ndarray, "out")
            matrices = [row_major(each, "out", written=True) for each in outs]
            gathered_x = None if gathered is None else row_major(gathered, "gathered", written=True)
            if out is not None:
                if m is not None and any(len(each) != m for each in outs):
                    raise InvalidArgumentError(
                        f"m is {m}, but out has {' and '.join(str(len(it)) for it in outs)} rows; "
                        "leave m out, or give out as many"
                    )
                _refuse_overlap(x_local, "out", outs)
            if gathered is not None:
                _refuse_overlap(x_local, "gathered", [gathered])
            _refuse_overlap_of_results(outs if gathered is None else [*outs, gathered])
        except Exception as error:
            self._axis._mesh.abort(str(error))  # the peers may wait already
            raise
        _core.all_gather_matmul(self._core, x, sides, matrices, gathered_x)
        return outs[0] if self._swiglu or isinstance(y, Weights) else tuple(outs)

    @_ends_the_mesh
    def all_gather(self, x_local: np.ndarray, gathered: np.ndarray | None = None) -> np.ndarray:
        """The gather alone: returns gathered [m, k], all ranks' rows in rank order. Collective,
        with the rules and errors of a call."""
        try:
            if gathered is None:
                gathered = np.empty((self._m, self._k), self._dtype)
            x, target = row_major(x_local, "x_local"), row_major(gathered, "gathered", written=True)
        except Exception as error:
            self._axis._mesh.abort(str(error))
            raise
        _core.all_gather(self._core, x, target)
        return gathered

    def __repr__(self) -> str:
        return (
            f"<Plan m={self._m} k={self._k} n_local={list(self._n_out)} {self._dtype} -> "
            f"{self._out_dtype}, {self.algorithm}, {self._axis!r}>"
        )


def _tell_peers(error: Exception, given: Mapping[str, Any]) -> None:
    """In place of the making of a plan, in which the peers wait for this rank. Raises what all
    ranks raise; this rank's mistake, with what it met as the cause, where peers do not come."""
    if "axis" in given:
        seconds = given.get("deadline_seconds", DEADLINE_SECONDS)
        seconds = seconds if seconds > 0 else DEADLINE_SECONDS  # which is refused, too
        _core.Plan.refuse(given["axis"]._core, str(error), seconds)


@functools.partial(checked, refused=_tell_peers)
def plan(
    axis: Axis,
    *,
    m: int,
    k: int,
    n_local: int | Sequence[int],
    dtype: Any = np.float32,
    out_dtype: Any = None,
    rows: Sequence[int] = (),
    activation: str | Sequence[str] = (),
    swiglu: bool = False,
    algorithm: str = "auto",
    pieces: Int32 = 0,
    threads: Int32 = 1,
    native_bf16: bool = True,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Plan:
    """Makes what every call of one shape uses. Collective over the axis.

    Args:
        m: rows of the gathered x; the plan serves fewer, too, unless rows are given.
        k: columns of x.
        n_local: this rank's columns of y, or of each right side; may differ between ranks.
        dtype: of x and y: numpy.float32, numpy.float16 or ml_dtypes.bfloat16.
        out_dtype: of the results; default: dtype.
        rows: rows of x on each rank, summing to m; default: m split evenly, the first m % P ranks
            hold one more.
        activation: "none", "relu", "gelu_tanh", "gelu_erf" or "silu"; one, or one for each right
            side.
        swiglu: two right sides gate and up, one result silu(x @ gate) * (x @ up).
        algorithm: "auto", "direct", "ring", "bidirectional", "recursive_doubling" or
            "hierarchical"; the ranks must agree.
        pieces: chunks that a rank's rows travel in; 0: the plan decides; the ranks must agree.
        threads: that multiply for this rank, the caller included.
        native_bf16: False: the bits of bf16 products are the same on every machine.
        deadline_seconds: of each call, from its start.

    Raises:
        InvalidArgumentError: what is wrong, or on what the ranks disagree: the same on every rank.
        OutOfMemoryError, UnsupportedError: naming a rank. The mesh stays usable in all cases.
    """
    widths = [n_local] if isinstance(n_local, int) else list(n_local)
    try:
        element = dtype_name(dtype, "dtype")
        out_element = element if out_dtype is None else dtype_name(out_dtype, "out_dtype")
    except InvalidArgumentError as error:
        _tell_peers(error, {"axis": axis, "deadline_seconds": deadline_seconds})
        raise
    core = _core.Plan.make(
        axis._core,
        m=m,
        k=k,
        n_local=widths,
        dtype=element,
        out_dtype=out_element,
        rows=list(rows),
        algorithm=algorithm,
        pieces=pieces,
        threads=threads,
        deadline_seconds=deadline_seconds,
        native_bf16=native_bf16,
        activations=[activation] * len(widths) if isinstance(activation, str) else list(activation),
        swiglu=swiglu,
    )
    n_out = tuple(widths[:1] if swiglu else widths)
    return Plan(core, axis, m, k, n_out, element, out_element, swiglu)


def _refuse_overlap(x_local: np.ndarray, what: str, written: list[np.ndarray]) -> None:
    for each in written:
        # The first looks at the ends alone, and is quick.
        if np.may_share_memory(x_local, each) and np.shares_memory(x_local, each):
            raise InvalidArgumentError(
                f"{what} shares memory with x_local, which peers read while {what} is written"
            )


def _refuse_overlap_of_results(results: list[np.ndarray]) -> None:
    for one, other in itertools.combinations(results, 2):
        if np.may_share_memory(one, other) and np.shares_memory(one, other):
            raise InvalidArgumentError(
                f"results {list(one.shape)} and {list(other.shape)} share memory; each of out, and "
                "gathered, needs its own"
            )


def bias_row(bias: Any, y: np.ndarray, transposed: bool) -> np.ndarray | None:
    """[n] in float32, side by side."""
    if bias is None:
        return None
    try:
        given = np.asarray(bias)
    except ValueError as error:  # lists of different lengths
        raise InvalidArgumentError(
            f"bias is {shown(bias)}; it must be a list of numbers or an array of one dimension"
        ) from error
    # Of bfloat16 numpy knows no kind.
    if name_of_array(given) is None and not np.can_cast(given.dtype, np.float32, "same_kind"):
        raise InvalidArgumentError(f"bias holds {given.dtype}; it must hold real numbers")
    row = np.ascontiguousarray(given, np.float32)
    n = y.shape[0 if transposed else 1]
    if row.shape != (n,):
        raise InvalidArgumentError(f"bias has the shape {row.shape}; it must be ({n},)")
    return row


def _list_of(value: Any, kind: type, what: str) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    for each in values:
        if not isinstance(each, kind):
            raise InvalidArgumentError(
                f"{what} is {type(each).__name__}; it must be {class_name(kind)}, or a tuple with "
                "one for each right side"
            )
    return values

"""A whole product at once: the arrays of all ranks, the ranks threads of this call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collective_matmul import _core
from collective_matmul._arguments import Int32, checked
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul._dtypes import dtype_name, dtype_of
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.numpy._arrays import row_major, strided
from collective_matmul.numpy._mesh import Mesh, run_ranks
from collective_matmul.numpy._plan import Weights, bias_row, plan

Side = np.ndarray | Weights


@checked
def all_gather_matmul(
    x: np.ndarray | list[np.ndarray],
    y: Any,
    *,
    ranks: int | None = None,
    transposed: bool = False,
    bias: Any = None,
    activation: str | Sequence[str] = (),
    swiglu: bool = False,
    out_dtype: Any = None,
    return_gathered: bool = False,
    algorithm: str = "auto",
    threads: Int32 = 1,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Any:
    """out = epilogue(all_gather(x) @ y) on ranks that are threads of this process.

    Threads and a plan are made for this one product, and y is read where it lies. To keep them,
    and packed weights, from call to call, use ``run_ranks``, ``Weights`` and ``plan``.

    Args:
        x: [m, k], whose rows are split evenly over the ranks; or a list of the ranks' own rows,
            x_r [m_r, k]. Elements of a row side by side.
        y: where x is one array: [k, n], whose columns are split evenly over the ranks, or a tuple
            of several right sides. Where x is a list: a list with the right side (or a tuple of
            several) of each rank, y_r [k, n_r], arrays or Weights. Any strides.
        ranks: number of ranks, where x is one array.
        transposed: y is [n, k], as PyTorch stores a linear layer.
        bias: [n] (with a list x: a list of [n_r]), added before the activation, in float32; a tuple
            of them where there are several right sides.
        activation, swiglu, algorithm, threads, deadline_seconds: as of ``plan``.
        out_dtype: of the result; default: that of x.
        return_gathered: also return the gathered x [m, k].

    Returns:
        out [m, n] where x is one array, else a list of out_r [m, n_r]; a tuple of such arrays for
        several right sides (but SwiGLU). With return_gathered the pair (out, gathered), gathered a
        list where x is one.

    Raises:
        InvalidArgumentError, OutOfMemoryError, UnsupportedError, DeadlineError.
    """
    whole = isinstance(x, np.ndarray)
    if isinstance(x, np.ndarray):
        shares = _shares_of_whole(x, y, bias, ranks, transposed)
    else:
        shares = _shares_of_list(x, y, bias, ranks)
    for share in shares:
        share.check(transposed)
    rows = [len(share.x) for share in shares]
    m, k = sum(rows), shares[0].x.shape[1]
    dtype = shares[0].x.dtype
    out_type = dtype_of(dtype_name(dtype if out_dtype is None else out_dtype, "out_dtype"))
    widths = [[_columns(side, transposed) for side in share.sides] for share in shares]
    results = [each[:1] if swiglu else each for each in widths]  # columns of each result
    if whole:
        full = [np.empty((m, sum(columns)), out_type) for columns in zip(*results)]
        outs = list(zip(*(_columns_of_ranks(out, len(shares)) for out in full)))
    else:
        outs = [[np.empty((m, columns), out_type) for columns in each] for each in results]
    # Of one array every rank would gather the same.
    gathers = range(return_gathered and (1 if whole else len(shares)))
    gathered = {rank: np.empty((m, k), dtype) for rank in gathers}

    def body(mesh: Mesh) -> None:
        share = shares[mesh.rank]
        weights = [
            side if isinstance(side, Weights) else Weights.view(side, transposed=transposed, bias=b)
            for side, b in zip(share.sides, share.biases)
        ]
        call = plan(
            mesh.axis(),
            m=m,
            k=k,
            n_local=widths[mesh.rank],
            dtype=share.x.dtype,
            out_dtype=out_type,
            rows=rows,
            activation=activation,
            swiglu=swiglu,
            algorithm=algorithm,
            threads=threads,
            deadline_seconds=deadline_seconds,
        )
        call(share.x, weights, outs[mesh.rank], gathered=gathered.get(mesh.rank))

    run_ranks(len(shares), body)
    one = swiglu or shares[0].one
    if whole:
        out: Any = full[0] if one else tuple(full)
        return (out, gathered[0]) if return_gathered else out
    out = [each[0] if one else tuple(each) for each in outs]
    return (out, list(gathered.values())) if return_gathered else out


def _columns_of_ranks(out: np.ndarray, ranks: int) -> list[np.ndarray]:
    return [out[:, part] for part in _split(out.shape[1], ranks)]


def _split(extent: int, ranks: int) -> list[slice]:
    """The part of each rank: even, the first extent % ranks hold one more."""
    part, more = divmod(extent, ranks)
    ends = [rank * part + min(rank, more) for rank in range(ranks + 1)]
    return [slice(begin, end) for begin, end in zip(ends, ends[1:])]


@dataclass
class _Share:
    """What one rank multiplies."""

    x: np.ndarray  # [m_r, k]
    sides: list[Side]  # [k, n_r] each
    biases: list[Any]  # [n_r] or None, one for each right side
    one: bool  # one right side, not a tuple of one

    def check(self, transposed: bool) -> None:
        row_major(self.x, "x")
        for side, bias in zip(self.sides, self.biases):
            if not isinstance(side, Weights):
                strided(side, "y")
                bias_row(bias, side, transposed)
            elif bias is not None:
                raise InvalidArgumentError("y is Weights, which have a bias of their own, if any")


def _shares_of_whole(
    x: np.ndarray, y: Any, bias: Any, ranks: int | None, transposed: bool
) -> list[_Share]:
    if ranks is None or not 1 <= ranks <= _core.MAX_RANKS:
        raise InvalidArgumentError(
            f"ranks is {ranks!r}; where x is one array, it must be the number of ranks, from 1 to "
            f"{_core.MAX_RANKS}"
        )
    row_major(x, "x")
    sides, biases, one = _sides(y, bias)
    for side in sides:
        strided(side, "y")
    biases = [bias_row(b, side, transposed) for b, side in zip(biases, sides)]
    parts = [_split(_columns(side, transposed), ranks) for side in sides]
    shares = []
    for rank, x_rows in enumerate(_split(len(x), ranks)):
        columns = [each[rank] for each in parts]
        shares.append(
            _Share(
                x[x_rows],
                [s[part] if transposed else s[:, part] for s, part in zip(sides, columns)],
                [None if b is None else b[part] for b, part in zip(biases, columns)],
                one,
            )
        )
    return shares


def _shares_of_list(x: Any, y: Any, bias: Any, ranks: int | None) -> list[_Share]:
    if not isinstance(x, list) or not x:
        raise InvalidArgumentError(
            f"x is {type(x).__name__ if x else 'empty'}; it must be an array [m, k], or a list of "
            "the rows [m_r, k] of each rank"
        )
    for what, value in (("y", y), ("bias", bias)):
        if (what == "y" or value is not None) and not (
            isinstance(value, list) and len(value) == len(x)
        ):
            raise InvalidArgumentError(
                f"x is a list of {len(x)} ranks' rows, so {what} must be a list of as many"
            )
    if ranks not in (None, len(x)):
        raise InvalidArgumentError(f"ranks is {ranks}, but x is a list of {len(x)} ranks' rows")
    return [_Share(x_r, *_sides(y_r, b)) for x_r, y_r, b in zip(x, y, bias or [None] * len(x))]


def _sides(y: Any, bias: Any) -> tuple[list[Any], list[Any], bool]:
    """Right sides, as many biases, and whether y was one right side rather than a tuple."""
    if not isinstance(y, tuple):
        return [y], [bias], True
    if not y:
        raise InvalidArgumentError("y is empty; there must be one right side at least")
    if bias is None:
        return list(y), [None] * len(y), False
    if not isinstance(bias, tuple) or len(bias) != len(y):
        raise InvalidArgumentError(
            f"y is a tuple of {len(y)} right sides, so bias must be a tuple of as many"
        )
    return list(y), list(bias), False


def _columns(side: Side, transposed: bool) -> int:
    return side.n if isinstance(side, Weights) else side.shape[0 if transposed else 1]

"""The operators that PyTorch sees: opaque to a compiler, with shapes for it and gradients.

Everything that can be wrong with a call is checked here, by the same code for real tensors and for
those that a compiler traces with. On real tensors a refusal ends the mesh, since peers may wait.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import forward_ad
from torch.distributed import distributed_c10d

from collective_matmul import _core
from collective_matmul.errors import InvalidArgumentError, PeerFailedError, UnsupportedError
from collective_matmul.torch._group import PlanKey, Ranks, even_rows, ranks_of, refuse, seconds
from collective_matmul.torch._tensor import DTYPES, dtype_name, matrix, rows_side_by_side
from collective_matmul.torch._weights import PackedWeights, packed

_is_exporting = getattr(torch.compiler, "is_exporting", lambda: False)  # PyTorch 2.7 has it

PLAIN = -1  # in packed_sides: the next of the weights that are tensors


# Not by torch.library.custom_op, whose first call imports the compiler, for seconds.
for _name, _schema in (
    (
        "all_gather_matmul",
        "(Tensor x, Tensor[] weights, Tensor[] biases, *, int[] bias_sides, int[] packed_sides, "
        "str group_name, bool return_A, bool transposed, str[] activations, bool swiglu, "
        "ScalarType? out_dtype, int[]? rows, str algorithm, int threads, float deadline_seconds, "
        "bool native_bf16) -> Tensor[]",
    ),
    ("refuse", "(*, str group_name, str message) -> ()"),
    (
        "all_gather",
        "(Tensor x, *, str group_name, int[]? rows, float deadline_seconds) -> Tensor",
    ),
    (
        "reduce_scatter",
        "(Tensor x, *, str group_name, int[]? rows, float deadline_seconds) -> Tensor",
    ),
):
    torch.library.define(
        f"collective_matmul::{_name}", _schema, tags=torch.Tag.pt2_compliant_tag
    )

all_gather_matmul = torch.ops.collective_matmul.all_gather_matmul.default
refuse_while_traced = torch.ops.collective_matmul.refuse.default
all_gather = torch.ops.collective_matmul.all_gather.default
reduce_scatter = torch.ops.collective_matmul.reduce_scatter.default


class Side(NamedTuple):
    """One right side [k, n]."""

    n: int
    weight: Tensor | PackedWeights
    bias: Tensor | None


class Problem(NamedTuple):
    """A call that was checked."""

    dtype: str
    out_dtype: torch.dtype
    m: int
    sides: list[Side]
    out_cols: list[int]


def _check_rows(ranks: Ranks, x: Tensor, rows: list[int] | None) -> int:
    """The rows of the gathered x."""
    if x.dim() != 2:
        raise InvalidArgumentError(f"x is {list(x.shape)}; it must have two dimensions here")
    if rows is None:
        return ranks.num_ranks * x.shape[0]
    if len(rows) != ranks.num_ranks or min(rows) < 0:
        raise InvalidArgumentError(
            f"rows is {list(rows)}; it needs a number for each of the {ranks.num_ranks} ranks"
        )
    if rows[ranks.rank] != x.shape[0]:
        raise InvalidArgumentError(
            f"rows says {rows[ranks.rank]} for rank {ranks.rank}, whose x has {x.shape[0]}"
        )
    return sum(rows)


def _rows_of_plan(ranks: Ranks, m: int, rows: list[int] | None) -> tuple[int, ...]:
    return () if rows is None or rows == even_rows(m, ranks.num_ranks) else tuple(rows)


def _check_weight(x: Tensor, side: int, weight: Tensor, transposed: bool) -> int:
    """n of a plain weight."""
    name = f"weight {side}"
    dtype_name(weight, name)
    if weight.dtype != x.dtype or weight.device != x.device:
        raise InvalidArgumentError(
            f"{name} is {weight.dtype} on {weight.device} and x {x.dtype} on {x.device}; they must "
            "be alike"
        )
    k_dim = 1 if transposed else 0
    if weight.dim() != 2 or weight.shape[k_dim] != x.shape[1]:
        layout, other = ("[n, k]", "[k, n]") if transposed else ("[k, n]", "[n, k]")
        raise InvalidArgumentError(
            f"{name} is {list(weight.shape)} and x has k={x.shape[1]} columns; a weight is "
            f"{layout} with transposed={transposed}, and {other} with transposed={not transposed}"
        )
    return weight.shape[1 - k_dim]


def _check_packed(x: Tensor, side: int, weights: PackedWeights) -> int:
    if weights.dtype != x.dtype or weights.k != x.shape[1]:
        raise InvalidArgumentError(
            f"weight {side} was packed as {weights.dtype} with k={weights.k}; x is {x.dtype} with "
            f"k={x.shape[1]}"
        )
    return weights.n


def _check_bias(
    x: Tensor, bias: Tensor, side: int, weight: Tensor | PackedWeights, n: int
) -> None:
    dtype_name(bias, f"bias {side}")
    if bias.device != x.device:
        raise InvalidArgumentError(
            f"bias {side} is on {bias.device} and x on {x.device}; they must be on one device"
        )
    if isinstance(weight, PackedWeights):
        raise InvalidArgumentError(f"bias {side} is of packed weights; give it to pack() instead")
    if list(bias.shape) != [n]:
        raise InvalidArgumentError(f"bias {side} is {list(bias.shape)}; it must be [{n}]")


def _check(
    ranks: Ranks, x: Tensor, weights: list[Tensor], biases: list[Tensor], options: dict[str, Any]
) -> Problem:
    dtype = dtype_name(x, "x")
    out_dtype = x.dtype if options["out_dtype"] is None else options["out_dtype"]
    if out_dtype not in DTYPES:
        raise InvalidArgumentError(
            f"out_dtype is {out_dtype}; it must be float32, bfloat16 or float16"
        )
    m = _check_rows(ranks, x, options["rows"])
    if not options["packed_sides"]:
        raise InvalidArgumentError("weights is empty; it needs a weight for each product")
    plain, bias_of = iter(weights), dict(zip(options["bias_sides"], biases, strict=True))
    sides = []
    for number, handle in enumerate(options["packed_sides"]):
        if handle == PLAIN:
            weight: Tensor | PackedWeights = next(plain)
            n = _check_weight(x, number, weight, options["transposed"])
        else:
            weight = packed(handle)
            n = _check_packed(x, number, weight)
        bias = bias_of.get(number)
        if bias is not None:
            _check_bias(x, bias, number, weight, n)
        sides.append(Side(n, weight, bias))
    out_cols = [side.n for side in sides]
    if options["swiglu"]:
        if len(sides) != 2 or out_cols[0] != out_cols[1]:
            raise InvalidArgumentError(
                f"swiglu takes two weights, gate and up, of the same n; these have n={out_cols}"
            )
        out_cols = out_cols[:1]
    return Problem(dtype, out_dtype, m, sides, out_cols)


def _results(x: Tensor, problem: Problem, return_A: bool) -> list[Tensor]:
    outs = [x.new_empty((problem.m, n), dtype=problem.out_dtype) for n in problem.out_cols]
    return [*outs, x.new_empty((problem.m, x.shape[1]))] if return_A else outs


def _right_side(side: Side, dtype: str, transposed: bool) -> _core.Weights:
    """Refers to the side's weight and bias where they lie; the bias is f32."""
    if isinstance(side.weight, PackedWeights):
        return side.weight.core
    bias = None if side.bias is None else matrix(side.bias.unsqueeze(0), "f32")
    return _core.Weights.view(matrix(side.weight, dtype), transposed=transposed, bias=bias)


@torch.library.impl("collective_matmul::all_gather_matmul", "default")
def _all_gather_matmul(
    x: Tensor, weights: list[Tensor], biases: list[Tensor], **options: Any
) -> list[Tensor]:
    """x [m_local, k] -> the products [m, n] in the order of packed_sides, then the gathered x where
    return_A. Collective. See collective_matmul.torch.all_gather_matmul."""
    ranks = ranks_of(options["group_name"])
    with ranks.call():
        problem = _check(ranks, x, weights, biases, options)
        plan = ranks.plan(
            PlanKey(
                m=problem.m,
                rows=_rows_of_plan(ranks, problem.m, options["rows"]),
                k=x.shape[1],
                n_local=tuple(side.n for side in problem.sides),
                dtype=problem.dtype,
                out_dtype=DTYPES[problem.out_dtype],
                activations=tuple(options["activations"]),
                swiglu=options["swiglu"],
                algorithm=options["algorithm"],
                threads=options["threads"] or torch.get_num_threads(),
                deadline_seconds=options["deadline_seconds"],
                native_bf16=options["native_bf16"],
            )
        )
        x = rows_side_by_side(x)
        results = _results(x, problem, options["return_A"])
        gathered = matrix(results[-1], problem.dtype) if options["return_A"] else None
        # Held until the call has returned: what the right sides refer to may be copies.
        sides = [
            side if side.bias is None else side._replace(bias=side.bias.float().contiguous())
            for side in problem.sides
        ]
        _core.all_gather_matmul(
            plan,
            matrix(x, problem.dtype),
            [_right_side(side, problem.dtype, options["transposed"]) for side in sides],
            [
                matrix(out, DTYPES[problem.out_dtype])
                for out in results[: len(problem.out_cols)]
            ],
            gathered,
        )
    return results


@torch.library.register_fake("collective_matmul::all_gather_matmul")
def _all_gather_matmul_shapes(
    x: Tensor, weights: list[Tensor], biases: list[Tensor], **options: Any
) -> list[Tensor]:
    try:
        problem = _check(ranks_of(options["group_name"]), x, weights, biases, options)
    except Exception as error:
        _tell_while_compiled(options["group_name"], error)
        raise
    return _results(x, problem, options["return_A"])


@torch.library.impl("collective_matmul::refuse", "default")
@torch.library.register_fake("collective_matmul::refuse")
def _refuse(*, group_name: str, message: str) -> None:
    """What the code before the operator finds while a compiler traces it. An error of traced code
    may end the trace, or, in another mode, have it run once more without; one of an operator ends
    the call in all modes."""
    error = InvalidArgumentError(message)
    _tell_while_compiled(group_name, error)
    raise error


def _is_traced() -> bool:
    """Whether torch.compile runs this code, which nothing public tells. With a PyTorch that knows it
    by another name, peers learn of the mistake at their deadline."""
    context = getattr(getattr(torch, "_guards", None), "TracingContext", None)
    return context is not None and context.try_get() is not None


def _tell_while_compiled(group_name: str, error: Exception) -> None:
    """Where torch.compile traces a call in order to make it, peers may be in it already, and would
    take this rank's next call for it. Others that only ask for shapes make no call."""
    if _is_traced() and not _is_exporting():
        refuse(group_name, error)


@torch.library.impl("collective_matmul::all_gather", "default")
def _all_gather(
    x: Tensor, *, group_name: str, rows: list[int] | None, deadline_seconds: float
) -> Tensor:
    """x [m_local, k] -> [m, k], the rows of all ranks in their order. Collective."""
    ranks = ranks_of(group_name)
    with ranks.call():
        dtype = dtype_name(x, "x")
        m = _check_rows(ranks, x, rows)
        plan = ranks.plan(
            PlanKey(
                m=m,
                rows=_rows_of_plan(ranks, m, rows),
                k=x.shape[1],
                n_local=(0,),
                dtype=dtype,
                out_dtype=dtype,
                activations=(),
                swiglu=False,
                algorithm="auto",
                threads=1,
                deadline_seconds=deadline_seconds,
                native_bf16=True,
            )
        )
        x = rows_side_by_side(x)
        gathered = x.new_empty((m, x.shape[1]))
        _core.all_gather(plan, matrix(x, dtype), matrix(gathered, dtype))
    return gathered


@torch.library.register_fake("collective_matmul::all_gather")
def _all_gather_shape(
    x: Tensor, *, group_name: str, rows: list[int] | None, deadline_seconds: float
) -> Tensor:
    return x.new_empty((_check_rows(ranks_of(group_name), x, rows), x.shape[1]))


@torch.library.impl("collective_matmul::reduce_scatter", "default")
def _reduce_scatter(
    x: Tensor, *, group_name: str, rows: list[int] | None, deadline_seconds: float
) -> Tensor:
    """x [m, k], different on each rank -> this rank's rows [m_local, k] of the sum over ranks, by
    torch.distributed. Collective."""
    group = distributed_c10d._resolve_process_group(group_name)
    num_ranks, rank = group.size(), group.rank()
    total = x.clone(memory_format=torch.contiguous_format)
    try:
        # gloo's reduce_scatter_tensor is all_reduce within, takes equal parts only, and waits
        # without end.
        dist.all_reduce(total, group=group, async_op=True).wait(seconds(deadline_seconds))
    except RuntimeError as error:
        raise PeerFailedError(f"the gradient's sum over the ranks failed: {error}") from error
    by_rank = rows or [x.shape[0] // num_ranks] * num_ranks
    return total.split(by_rank)[rank].clone()


@torch.library.register_fake("collective_matmul::reduce_scatter")
def _reduce_scatter_shape(
    x: Tensor, *, group_name: str, rows: list[int] | None, deadline_seconds: float
) -> Tensor:
    ranks = ranks_of(group_name)
    m_local = x.shape[0] // ranks.num_ranks if rows is None else rows[ranks.rank]
    return x.new_empty((m_local, x.shape[1]))


def refuse_gradient(activations: list[str], swiglu: bool, packed_sides: list[int]) -> None:
    """Raises UnsupportedError where a gradient would be wrong."""
    if swiglu or any(name != "none" for name in activations):
        raise UnsupportedError(
            "no gradient goes through an activation or swiglu of this operator; apply them to its "
            "result, or call it under torch.no_grad()"
        )
    if any(handle != PLAIN for handle in packed_sides):
        raise UnsupportedError(
            "no gradient goes through packed weights; give the weights themselves, or call it "
            "under torch.no_grad()"
        )


def refuse_tangents(tensors: list[Tensor]) -> None:
    """Raises UnsupportedError in forward mode, where PyTorch would take the tangents for 0."""
    if any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise UnsupportedError(
            "this operator has no forward-mode gradient; use reverse mode, as backward() does"
        )


def _save_for_gradient(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    # Also called where no gradient is wanted, by some versions.
    x, weights, biases = inputs
    options = keyword_only_inputs
    ctx.options = options
    ctx.num_weights, ctx.num_biases = len(weights), len(biases)
    ctx.bias_dtypes = [bias.dtype for bias in biases]
    gathered = output[-1] if options["return_A"] else None
    ctx.save_for_backward(x, gathered, *weights)


def _gradient(ctx: Any, grads: list[Tensor]) -> Any:
    """Gradients of x, the weights and the biases.

    x goes to all ranks and so gets a sum over ranks, scattered by rows; a weight is this rank's
    own, and its gradient needs the gathered x: kept where it was a result, else gathered again.
    """
    x, gathered, *weights = ctx.saved_tensors
    options = ctx.options
    refuse_gradient(options["activations"], options["swiglu"], options["packed_sides"])
    common = {name: options[name] for name in ("group_name", "rows", "deadline_seconds")}
    wants_x, wants_weights, wants_biases = ctx.needs_input_grad
    out_grads = [grad.to(x.dtype) for grad in grads[: ctx.num_weights]]

    x_grad = None
    if wants_x:
        # In f32, for sums over many columns and ranks.
        total = torch.zeros(
            (out_grads[0].shape[0], x.shape[1]), dtype=torch.float32, device=x.device
        )
        for grad, weight in zip(out_grads, weights, strict=True):
            total += grad @ (weight if options["transposed"] else weight.t())
        if gathered is not None:
            total += grads[-1]
        x_grad = reduce_scatter(total, **common).to(x.dtype)

    weight_grads: list[Tensor | None] = [None] * ctx.num_weights
    if any(wants_weights):
        if gathered is None:
            gathered = all_gather(x, **common)
        for side, grad in enumerate(out_grads):
            if wants_weights[side]:
                left, right = (grad, gathered) if options["transposed"] else (gathered, grad)
                weight_grads[side] = left.t() @ right

    bias_grads = [
        grads[side].sum(0, dtype=torch.float32).to(dtype) if wanted else None
        for side, dtype, wanted in zip(
            options["bias_sides"], ctx.bias_dtypes, wants_biases, strict=True
        )
    ]
    return x_grad, weight_grads, bias_grads


torch.library.register_autograd(
    "collective_matmul::all_gather_matmul", _gradient, setup_context=_save_for_gradient
)

"""All-gather matmul for PyTorch's tensor parallelism on the CPU: one operator over a process group.

The ranks are the processes of a group on one host; they read each other's rows of x in shared
memory. The operator works under torch.compile as one opaque call, and under autograd.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from collective_matmul._optional import require

require("torch")  # before what imports it

import torch
import torch.distributed as dist

from collective_matmul._arguments import Arguments, Int32, checked
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul._shapes import bytes_of
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.torch import _op
from collective_matmul.torch._group import name_of, ranks_of, refuse
from collective_matmul.torch._tensor import DTYPES
from collective_matmul.torch._weights import PackedWeights, pack

__all__ = ["PackedWeights", "all_gather_matmul", "empty", "pack"]


def _check_tensors(x, weights, biases) -> None:
    """What PyTorch would refuse only after the peers have begun the call, and without the value."""
    tensors = [("x", x)]
    tensors += [(f"weight {side}", weight) for side, weight in enumerate(weights)]
    tensors += [(f"bias {side}", b) for side, b in enumerate(biases) if b is not None]
    for what, tensor in tensors:
        if isinstance(tensor, PackedWeights) and what.startswith("weight"):
            continue
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgumentError(f"{what} is a {type(tensor).__name__}; it must be a tensor")


def all_gather_matmul(
    x: torch.Tensor,
    weights: Sequence[torch.Tensor | PackedWeights],
    group: dist.ProcessGroup | str | None = None,
    *,
    return_A: bool = False,
    gather_dim: int = 0,
    transposed: bool = False,
    bias: Sequence[torch.Tensor | None] | None = None,
    activation: str | Sequence[str] | None = None,
    swiglu: bool = False,
    out_dtype: torch.dtype | None = None,
    rows: Sequence[int] | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    threads: Int32 | None = None,
    algorithm: str = "auto",
    native_bf16: bool = True,
) -> tuple[torch.Tensor | None, list[torch.Tensor]]:
    """all_gather(x) times each weight, the gather hidden behind the products.

    Like torch.ops.symm_mem.fused_all_gather_matmul, for processes of one host on the CPU.
    Collective: all ranks of the group make the same calls in the same order, with the same
    arguments but for the tensors. n, threads and deadline_seconds may differ between ranks, but
    change from call to call on all of them or on none.

    Args:
        x: [..., k], this rank's part along gather_dim; float32, bfloat16 or float16. Read in place
            where the elements of a row lie side by side; peers read it without a copy where it is
            from `empty`. It may be overwritten once the call has returned.
        weights: of each product, this rank's columns: [k, n] with x's dtype and any strides, or
            what `pack` made of it. k is never split over ranks.
        group: the ranks; None: the default group. Of any backend; its processes are on one host.
        return_A: the gathered x is wanted, too.
        gather_dim: the dimension of x that is split over the ranks; not the last. Where it is not
            the first either, x is copied once unless the dimensions before it are 1.
        transposed: weights are [n, k], as torch.nn.Linear keeps them. (Packed ones need no word.)
        bias: for each weight None or [n], added to every row of its product.
        activation: "none", "relu", "gelu_tanh", "gelu_erf" or "silu", for all products or for each.
        swiglu: two weights {gate, up} of the same n, one result silu(gate product) * up product.
        out_dtype: of the results; None: x's.
        rows: what each rank's x has along gather_dim, where that differs; None: all as many.
        deadline_seconds: of the call, from its start.
        threads: that multiply for this rank; None: torch.get_num_threads().
        algorithm: "auto", "direct", "ring", "bidirectional", "recursive_doubling".
        native_bf16: False: the bits of processors without native bf16 (docs/numerics.md).

    Returns:
        The gathered x [..., k] or None, and a list of the results [..., n] in the order of weights.

    Raises:
        InvalidArgumentError: what is wrong with the arguments, or how the ranks' differ.
        UnsupportedError: ranks on several hosts; a gradient through an activation, swiglu or packed
            weights; forward-mode gradients.
        BusyError: another thread is in a call on the group.
        DeadlineError, PeerFailedError, MeshDeadError: what has become of the peers. Each error but
            BusyError ends the call on all ranks; the next call starts afresh.
        OutOfMemoryError: no room for the call.
    """
    refusal = None
    try:
        if not isinstance(weights, (list, tuple)):
            raise InvalidArgumentError(
                f"weights is a {type(weights).__name__}; it must be a list, with one weight or "
                "several"
            )
        biases = [None] * len(weights) if bias is None else list(bias)
        if len(biases) != len(weights):
            raise InvalidArgumentError(
                f"bias has {len(biases)} entries; it needs one for each of the {len(weights)} "
                "weights"
            )
        _check_tensors(x, weights, biases)
        options = {
            "return_A": return_A,
            "transposed": transposed,
            "swiglu": swiglu,
            "out_dtype": out_dtype,
            "algorithm": algorithm,
            "deadline_seconds": deadline_seconds,
            "native_bf16": native_bf16,
        }
        options = {name: _ARGUMENTS.converted(name, value) for name, value in options.items()}
        gather_dim = _ARGUMENTS.converted("gather_dim", gather_dim)
        activation = _ARGUMENTS.converted("activation", activation)
        rows = _ARGUMENTS.converted("rows", rows)
        threads = _ARGUMENTS.converted("threads", threads)
        if x.dim() < 2:
            raise InvalidArgumentError(f"x is {list(x.shape)}; it must have two dimensions or more")
        if not -x.dim() <= gather_dim < x.dim() or gather_dim % x.dim() == x.dim() - 1:
            raise InvalidArgumentError(
                f"gather_dim is {gather_dim} and x has {x.dim()} dimensions; it must be one of "
                "them, but not the last, which is k"
            )
        if activation is None:
            activation = []
        elif isinstance(activation, str):
            activation = [activation] * len(weights)
        packed_sides = [w.handle if isinstance(w, PackedWeights) else _op.PLAIN for w in weights]
        tensors = [w for w in weights if not isinstance(w, PackedWeights)]
        given_biases = [b for b in biases if b is not None]
        if torch.is_grad_enabled() and any(t.requires_grad for t in (x, *tensors, *given_biases)):
            _op.refuse_gradient(activation, swiglu, packed_sides)
        if not torch.compiler.is_compiling():
            _op.refuse_tangents([x, *tensors, *given_biases])

        inner, flat = 1, x
        if x.dim() > 2:
            moved = x.movedim(gather_dim, 0)  # [m_local, ..., k]
            inner = math.prod(moved.shape[1:-1])
            flat = moved.reshape(moved.shape[0] * inner, x.shape[-1])
    except Exception as error:
        if not torch.compiler.is_compiling():
            refuse(group, error)
            raise
        refusal = str(error)
    if refusal is not None:
        _op.refuse_while_traced(group_name=name_of(group), message=refusal)
    results = _op.all_gather_matmul(
        flat,
        tensors,
        given_biases,
        bias_sides=[side for side, b in enumerate(biases) if b is not None],
        packed_sides=packed_sides,
        group_name=name_of(group),
        activations=activation,
        rows=None if rows is None else [r * inner for r in rows],
        threads=threads or 0,
        **options,
    )
    if x.dim() > 2:
        results = [
            r.view(r.shape[0] // max(inner, 1), *moved.shape[1:-1], r.shape[1]).movedim(
                0, gather_dim
            )
            for r in results
        ]
    return (results[-1], results[:-1]) if return_A else (None, results)


_ARGUMENTS = Arguments(all_gather_matmul)


@checked
def empty(
    *shape: int,
    dtype: torch.dtype = torch.float32,
    group: dist.ProcessGroup | str | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> torch.Tensor:
    """A tensor, not initialised, in memory that the ranks of the group share.

    An x that lies in it is read by peers where it lies; others are copied once per call. Collective
    where the group was not used before or its last call has failed; after a failure old tensors
    keep their values, but are copied again. Raises as all_gather_matmul does.
    """
    if dtype not in DTYPES:
        raise InvalidArgumentError(f"dtype is {dtype}; it must be float32, bfloat16 or float16")
    num_bytes = bytes_of(shape, dtype.itemsize)
    ranks = ranks_of(name_of(group))
    with ranks.call(counted=False):
        mesh = ranks.mesh(deadline_seconds)
    if num_bytes == 0:
        return torch.empty(shape, dtype=dtype)
    memory = mesh.allocate(num_bytes)  # where that fails, no peer need know
    buffer = (ctypes.c_char * num_bytes).from_address(memory.address)
    buffer.memory = memory  # lives as long as a tensor refers to the buffer
    return torch.frombuffer(buffer, dtype=dtype).view(shape)

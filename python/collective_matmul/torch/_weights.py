"""Weights packed ahead, and the handles by which an operator of PyTorch can name them."""

from __future__ import annotations

import itertools
import weakref

import torch

from collective_matmul import _core
from collective_matmul._arguments import checked
from collective_matmul.errors import InvalidArgumentError
from collective_matmul.torch._tensor import dtype_name, matrix

_handles = itertools.count()
_by_handle: weakref.WeakValueDictionary[int, PackedWeights] = weakref.WeakValueDictionary()


class PackedWeights:
    """One right side [k, n] that was packed by `pack`. Immutable; needs none of the tensor.

    Attributes:
        k, n: extents; dtype: of the weight; bytes: that it holds.
    """

    def __init__(self, core: _core.Weights, dtype: torch.dtype) -> None:
        self.k: int = core.k
        self.n: int = core.n
        self.dtype = dtype
        self.bytes: int = core.bytes
        self.core = core
        self.handle = next(_handles)
        _by_handle[self.handle] = self

    def __repr__(self) -> str:
        return f"PackedWeights(k={self.k}, n={self.n}, dtype={self.dtype})"


@checked
def pack(
    weight: torch.Tensor,
    *,
    transposed: bool = False,
    bias: torch.Tensor | None = None,
    engine: str = "auto",
) -> PackedWeights:
    """Packs a weight once, for the many calls of a server. Not collective.

    Args:
        weight: [k, n], this rank's columns; f32, bf16 or f16, any strides, on the CPU.
        transposed: the weight is [n, k], as torch.nn.Linear keeps it.
        bias: [n], added to every row of the product; any of the dtypes above.
        engine: "auto", "own" or "onednn".
    Raises:
        InvalidArgumentError: shapes, dtypes or devices that do not fit.
        UnsupportedError: an engine that this build lacks.
        OutOfMemoryError: no room for the packed copy, which is as large as the weight.
    """
    name = dtype_name(weight, "weight")
    if weight.dim() != 2:
        raise InvalidArgumentError(f"weight is {list(weight.shape)}; it must have two dimensions")
    if bias is not None:
        dtype_name(bias, "bias")
        if list(bias.shape) != [weight.shape[0 if transposed else 1]]:
            raise InvalidArgumentError(
                f"bias is {list(bias.shape)} and weight {list(weight.shape)} with "
                f"transposed={transposed}; bias has an entry for each of its n columns"
            )
    weight = weight.resolve_neg()  # what the operator is spared by PyTorch's dispatcher
    bias_values = [] if bias is None else bias.detach().float().tolist()
    core = _core.Weights.pack(
        matrix(weight, name), transposed=transposed, bias=bias_values, engine=engine
    )
    return PackedWeights(core, weight.dtype)


def packed(handle: int) -> PackedWeights:
    """The weights of that handle. Raises InvalidArgumentError where they are gone."""
    try:
        return _by_handle[handle]
    except KeyError:
        raise InvalidArgumentError(
            "the packed weights of this call were freed; keep what pack() returned"
        ) from None

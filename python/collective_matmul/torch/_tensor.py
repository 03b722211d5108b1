"""Tensors as the extension module sees them: an address, a dtype, extents and strides."""

from __future__ import annotations

import torch

from collective_matmul import _core
from collective_matmul.errors import InvalidArgumentError

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}


def dtype_name(tensor: torch.Tensor, name: str) -> str:
    """Its dtype's name. Raises InvalidArgumentError unless it is a plain tensor of the CPU (or of
    no device, while a compiler traces) with a dtype that can be multiplied."""
    if not isinstance(tensor, torch.Tensor):
        raise InvalidArgumentError(f"{name} is a {type(tensor).__name__}; it must be a tensor")
    if tensor.device.type not in ("cpu", "meta"):
        raise InvalidArgumentError(
            f"{name} is on device {tensor.device}; this operator multiplies on the CPU"
        )
    if tensor.layout != torch.strided:
        raise InvalidArgumentError(f"{name} has layout {tensor.layout}; it must be strided")
    if tensor.dtype not in DTYPES:
        raise InvalidArgumentError(
            f"{name} is {tensor.dtype}; it must be float32, bfloat16 or float16"
        )
    return DTYPES[tensor.dtype]


def matrix(tensor: torch.Tensor, dtype: str) -> _core.Matrix:
    """A view of a tensor of two dimensions, which must live as long as the view is used."""
    return _core.Matrix(tensor.data_ptr(), dtype, *tensor.shape, *tensor.stride())


def rows_side_by_side(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself where the elements of a row lie side by side and rows do not overlap."""
    row_stride, col_stride = tensor.stride()
    return tensor if col_stride == 1 and row_stride >= tensor.shape[1] else tensor.contiguous()


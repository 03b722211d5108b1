"""Arrays as matrices of the extension module: checks that come before any data moves."""

from typing import Any

import numpy as np

from collective_matmul import _core
from collective_matmul._dtypes import name_of_array
from collective_matmul.errors import InvalidArgumentError


def strided(array: Any, what: str) -> _core.Matrix:
    """Any strides, as y may have them."""
    if not isinstance(array, np.ndarray):
        raise InvalidArgumentError(f"{what} is {type(array).__name__}; it must be a numpy.ndarray")
    name = name_of_array(array)
    if name is None:
        raise InvalidArgumentError(
            f"{what} holds {array.dtype}; it must hold numpy.float32, numpy.float16 or "
            f"ml_dtypes.bfloat16 in this machine's byte order ({what}.astype(...) converts it)"
        )
    if array.ndim != 2:
        raise InvalidArgumentError(
            f"{what} has the shape {array.shape}; it must have two dimensions"
        )
    rows, cols = array.shape
    size = array.itemsize
    # The strides of an empty array may be anything.
    row_bytes, col_bytes = array.strides if array.size else (cols * size, size)
    if row_bytes % size or col_bytes % size or not array.flags.aligned:
        raise InvalidArgumentError(
            f"{what} has elements of {size} bytes that do not lie at multiples of {size} bytes; "
            f"{what}.copy() is aligned"
        )
    address = _core.address_of(array)
    return _core.Matrix(address, name, rows, cols, row_bytes // size, col_bytes // size)


def row_major(array: Any, what: str, *, written: bool = False) -> _core.Matrix:
    """Elements of a row side by side and rows in ascending order, as x and results must lie."""
    matrix = strided(array, what)
    rows, cols = array.shape
    row_bytes, col_bytes = array.strides
    size = array.itemsize
    if array.size and (
        (cols > 1 and col_bytes != size) or (rows > 1 and row_bytes < cols * size)
    ):
        raise InvalidArgumentError(
            f"{what} [{rows}, {cols}] has strides of {row_bytes} and {col_bytes} bytes; the "
            f"elements of a row must lie side by side ({size} bytes apart), and the rows one after "
            f"the other: numpy.ascontiguousarray({what}) does"
        )
    if written and not array.flags.writeable:
        raise InvalidArgumentError(f"{what} is read-only; results are written to it")
    return matrix

"""Element types as numpy and the library name them."""

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from collective_matmul._arguments import shown
from collective_matmul.errors import InvalidArgumentError

_NAMES = {np.dtype(np.float32): "f32", np.dtype(bfloat16): "bf16", np.dtype(np.float16): "f16"}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def name_of_array(array: np.ndarray) -> str | None:
    """The library's name of an array's elements; None where it multiplies no such ones."""
    return _NAMES.get(array.dtype)


def numpy_name(dtype: Any, what: str) -> str:
    """numpy's name of an element type."""
    try:
        return np.dtype(dtype).name
    except Exception:  # numpy tries to make sense of anything
        raise InvalidArgumentError(
            f"{what} is {shown(dtype)}; it must be an element type, as numpy.float32"
        ) from None


def dtype_name(dtype: Any, what: str) -> str:
    """The library's name of an element type, which may be given by that name, too."""
    if isinstance(dtype, str) and dtype in _DTYPES:
        return dtype
    name = _NAMES.get(np.dtype(numpy_name(dtype, what)))
    if name is None:
        raise InvalidArgumentError(
            f"{what} is {dtype}; it must be numpy.float32, numpy.float16 or ml_dtypes.bfloat16"
        )
    return name


def dtype_of(name: str) -> np.dtype:
    return _DTYPES[name]

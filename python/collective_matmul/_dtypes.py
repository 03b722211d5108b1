"""Element types as numpy and the library name them."""

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from collective_matmul.errors import InvalidArgumentError

_NAMES = {np.dtype(np.float32): "f32", np.dtype(bfloat16): "bf16", np.dtype(np.float16): "f16"}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def name_of_array(array: np.ndarray) -> str | None:
    """The library's name of an array's elements; None where it multiplies no such ones."""
    return _NAMES.get(array.dtype)


def dtype_name(dtype: Any, what: str) -> str:
    """The library's name of an element type, which may be given by that name, too."""
    if isinstance(dtype, str) and dtype in _DTYPES:
        return dtype
    try:
        return _NAMES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise InvalidArgumentError(
            f"{what} is {dtype}; it must be numpy.float32, numpy.float16 or ml_dtypes.bfloat16"
        ) from None


def dtype_of(name: str) -> np.dtype:
    return _DTYPES[name]

"""Shapes of arrays in memory that ranks share."""

import math
from collections.abc import Sequence
from numbers import Integral

from collective_matmul.errors import InvalidArgumentError, OutOfMemoryError


def bytes_of(shape: Sequence[int], itemsize: int) -> int:
    """What an array of that shape holds.

    Raises:
        InvalidArgumentError: for what is no shape. OutOfMemoryError: from 2**63 bytes on.
    """
    if not all(isinstance(extent, Integral) and extent >= 0 for extent in shape):
        raise InvalidArgumentError(f"shape is {shape}; its extents must be integers from 0 on")
    num_bytes = math.prod(int(extent) for extent in shape) * itemsize
    if num_bytes >= 2**63:
        raise OutOfMemoryError(f"shape is {shape}, which takes {num_bytes} bytes")
    return num_bytes

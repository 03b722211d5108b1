"""Shapes of arrays in memory that ranks share."""

import math
from collections.abc import Sequence

from collective_matmul.errors import InvalidArgumentError, OutOfMemoryError


def bytes_of(shape: Sequence[int], itemsize: int) -> int:
    """What an array of that shape holds.

    Raises:
        InvalidArgumentError: for a negative extent. OutOfMemoryError: from 2**63 bytes on.
    """
    if any(extent < 0 for extent in shape):
        raise InvalidArgumentError(f"shape is {shape}; its extents must be integers from 0 on")
    num_bytes = math.prod(shape) * itemsize
    if num_bytes >= 2**63:
        raise OutOfMemoryError(f"shape is {shape}, which takes {num_bytes} bytes")
    return num_bytes

"""The deadline of a call where none is given: that of the C++ library."""

from collective_matmul import _core

DEADLINE_SECONDS: float = _core.default_deadline_seconds

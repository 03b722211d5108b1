"""All-gather matmul of tensor-parallel models: all_gather(x) @ y_local, the gather hidden.

``collective_matmul.numpy`` works on plain arrays with ranks as threads, ``collective_matmul.jax``
is a function for JAX programs on CPU and TPU, ``collective_matmul.torch`` an operator for PyTorch.
JAX and PyTorch are imported by their own submodules only.
"""

from collective_matmul.errors import (
    BadFileError,
    BusyError,
    DeadlineError,
    Error,
    InvalidArgumentError,
    IoError,
    MeshDeadError,
    OutOfMemoryError,
    PeerFailedError,
    UnsupportedError,
)

__all__ = [
    "BadFileError",
    "BusyError",
    "DeadlineError",
    "Error",
    "InvalidArgumentError",
    "IoError",
    "MeshDeadError",
    "OutOfMemoryError",
    "PeerFailedError",
    "UnsupportedError",
]

"""CPU devices: lowering to a custom call whose handlers are C++ (python/src/ffi).

The devices of a process meet in the handlers, and one team of threads multiplies for all of them.
"""

from __future__ import annotations

import functools
import math
import os
import re
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from collective_matmul import _core
from collective_matmul._deadline import DEADLINE_SECONDS
from collective_matmul.errors import InvalidArgumentError, UnsupportedError

_TARGET = "collective_matmul_all_gather_matmul"
_DTYPES = ("float32", "bfloat16", "float16")
_ALGORITHMS = (None, "auto", "direct")


def _num_cores() -> int:
    return len(os.sched_getaffinity(0))


def _client_exists() -> bool:
    # JAX has no public way to ask; an unknown answer is treated as "not yet", which is harmless.
    try:
        from jax._src import xla_bridge

        return bool(xla_bridge.backends_are_initialized())
    except (ImportError, AttributeError):
        return False


def _num_devices_to_be() -> int:
    """CPU devices that JAX's configuration asks for; 1 where it says nothing."""
    flags = re.findall(
        r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", "")
    )
    configured = getattr(jax.config, "jax_num_cpu_devices", None)
    if configured is not None and configured > 0:
        return int(configured)
    return int(flags[-1]) if flags else 1


def prepare_pool() -> None:
    """Gives JAX's CPU client the threads that launches in flight need, if it does not exist yet.

    With fewer than two threads per device, launches that are not waited for stop for ever, in XLA's
    own collectives as in ours. The number is read from the environment variable PJRT_NPROC when
    the client is made; one that the user has set is left alone. Called when
    `collective_matmul.jax` is imported.
    """
    num_devices = _num_devices_to_be()
    if num_devices > 1 and "PJRT_NPROC" not in os.environ and not _client_exists():
        os.environ["PJRT_NPROC"] = str(max(2 * num_devices, _num_cores()))


@functools.cache
def _warn_of_small_pool() -> None:
    num_devices = len(jax.devices("cpu"))
    text = os.environ.get("PJRT_NPROC", "")
    num_threads = int(text) if text.isdecimal() else max(_num_cores(), num_devices)
    if num_devices == 1 or num_threads >= 2 * num_devices:
        return
    warnings.warn(
        f"JAX's CPU client has {num_threads} threads for {num_devices} devices; with fewer than "
        f"{2 * num_devices}, many launches that are not waited for can stop for ever (in XLA's own "
        f"collectives, too). Import collective_matmul.jax before JAX makes its devices, or set "
        f"PJRT_NPROC={2 * num_devices} in the environment.",
        RuntimeWarning,
        stacklevel=2,
    )


def register() -> None:
    """Registers the handlers with JAX, also for executables that come from another process. Called
    when `collective_matmul.jax` is imported; makes no client."""
    handlers = {"instantiate": _core.ffi.instantiate, "execute": _core.ffi.execute}
    jax.ffi.register_ffi_target(_TARGET, handlers, platform="cpu")


def lower(
    ctx: Any,
    *operands: Any,
    num_ranks: int,
    num_groups: int = 1,
    rhs_transpose: bool = False,
    return_gathered: bool = False,
    activations: Sequence[str] = (),
    swiglu: bool = False,
    algorithm: str | None = None,
    num_processes: int | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    **_: Any,
) -> Any:
    """Lowering rule for CPU devices, for `jax.interpreters.mlir.register_lowering`.

    Operands and results are those of one device:
        operands: x_local [m_local, k]; right sides [k, n], or [n, k] if rhs_transpose; last,
            int32[2]: the rank on the axis and the number of its group (position on the other axes).
        results: [num_ranks * m_local, n] per right side (SwiGLU: one), then the gathered x if
            return_gathered.

    Args:
        num_ranks: of the axis.
        num_groups: of ranks; positions on the other axes of the mesh.
        activations: one name per right side; empty: none.
        num_processes: that the devices belong to; None: all that JAX knows of.
        algorithm: None, "auto" or "direct"; devices of one process read each other's rows.
        deadline_seconds: for all ranks to come to a call.

    Raises:
        UnsupportedError: an element type or an algorithm that CPU devices do not have, or devices
            of several processes.
        InvalidArgumentError: deadline_seconds is not positive.
    """
    for aval in (*ctx.avals_in[:-1], *ctx.avals_out):
        if aval.dtype.name not in _DTYPES:
            raise UnsupportedError(
                f"all_gather_matmul of {aval.dtype.name} on CPU devices: the CPU engine has "
                f"float32, bfloat16 and float16 (int8 is for TPUs)"
            )
    if algorithm not in _ALGORITHMS:
        raise UnsupportedError(
            f"algorithm={algorithm!r} on CPU devices: they lie in one process and read each "
            f"other's rows; algorithm must be None, 'auto', 'direct', or 'sequential', which is "
            f"XLA's own gather and product"
        )
    if not deadline_seconds > 0:
        raise InvalidArgumentError(
            f"deadline_seconds={deadline_seconds}: it must be above 0", -1
        )
    if num_processes is None:
        num_processes = jax.process_count()
    if num_processes > 1:
        raise UnsupportedError(
            f"all_gather_matmul on CPU devices of {num_processes} processes: CPU devices meet "
            f"within one process. Give a mesh (with mesh=, in a shard_map of your own) of "
            f"jax.local_devices(), or algorithm='sequential', which is XLA's own gather and product"
        )
    _warn_of_small_pool()
    rule = jax.ffi.ffi_lowering(_TARGET)
    return rule(
        ctx,
        *operands,
        num_ranks=np.int64(num_ranks),
        num_groups=np.int64(num_groups),
        rhs_transpose=np.int64(rhs_transpose),
        return_gathered=np.int64(return_gathered),
        swiglu=np.int64(swiglu),
        activations=",".join(activations),
        deadline_ms=np.int64(math.ceil(min(deadline_seconds, 1e9) * 1e3)),
    )

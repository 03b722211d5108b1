"""The primitive: one equation per call in a traced program, with a lowering for each platform.

Operands of each device: x_local [m_local, k]; each right side [k, n_local] or, with rhs_transpose,
[n_local, k]; ``where`` int32 [2], the device's rank on the axis and the number of its group among
the other axes. Results: out [num_ranks * m_local, n_local] of each right side (SwiGLU: one), then
x of all devices [num_ranks * m_local, k] with return_gathered. All are row-major.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

from collective_matmul.errors import UnsupportedError

all_gather_matmul_p = Primitive("all_gather_matmul")
all_gather_matmul_p.multiple_results = True


def result_dtype(dtype: Any, out_dtype: str | None) -> np.dtype:
    """The type of the product: as asked, else that of the operands, int32 of int8."""
    if out_dtype is not None:
        return jnp.dtype(out_dtype)
    return jnp.dtype("int32") if dtype == jnp.int8 else jnp.dtype(dtype)


@all_gather_matmul_p.def_abstract_eval
def _abstract_eval(x: Any, *ys_and_where: Any, **params: Any) -> list[Any]:
    *ys, _ = ys_and_where
    m = params["num_ranks"] * x.shape[0]
    dtype = result_dtype(x.dtype, params["out_dtype"])
    ns = [y.shape[0 if params["rhs_transpose"] else 1] for y in ys]
    if params["swiglu"]:
        ns = ns[:1]
    # What else x's type says, over which axes it varies, holds of the results too.
    results = [x.update(shape=(m, n), dtype=dtype, weak_type=False) for n in ns]
    if params["return_gathered"]:
        results.append(x.update(shape=(m, x.shape[1]), weak_type=False))
    return results


def _lower_on_cpu(ctx: Any, *operands: Any, **params: Any) -> Any:
    from collective_matmul.jax import _cpu

    return _cpu.lower(ctx, *operands, **params)


def _lower_on_tpu(ctx: Any, *operands: Any, **params: Any) -> Any:
    from collective_matmul.jax import _tpu

    return _tpu.lower(ctx, *operands, **params)


def _lower_elsewhere(ctx: Any, *operands: Any, **params: Any) -> Any:
    platforms = ", ".join(ctx.module_context.platforms)
    raise UnsupportedError(f"all_gather_matmul is there for cpu and tpu, not for {platforms}")


mlir.register_lowering(all_gather_matmul_p, _lower_on_cpu, platform="cpu")
mlir.register_lowering(all_gather_matmul_p, _lower_on_tpu, platform="tpu")
mlir.register_lowering(all_gather_matmul_p, _lower_elsewhere)

"""The all-gather matmul as a function of JAX programs, on TPUs and CPUs."""

from collective_matmul._optional import require

require("jax")  # before what imports it

from collective_matmul.jax import _cpu
from collective_matmul.jax._function import all_gather_matmul, all_gather_matmul_local
from collective_matmul.jax._queries import (
    CostEstimate,
    get_cost_estimate,
    get_kernel_name,
    get_tuned_block_sizes,
    get_vmem_estimate_bytes,
    validate_inputs,
    verify_kernel,
)
from collective_matmul.jax._rings import ring_mesh

__all__ = [
    "CostEstimate",
    "all_gather_matmul",
    "all_gather_matmul_local",
    "get_cost_estimate",
    "get_kernel_name",
    "get_tuned_block_sizes",
    "get_vmem_estimate_bytes",
    "ring_mesh",
    "validate_inputs",
    "verify_kernel",
]

_cpu.prepare_pool()
_cpu.register()

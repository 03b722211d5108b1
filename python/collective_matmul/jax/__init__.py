"""The all-gather matmul as a function of JAX programs, on TPUs and CPUs."""

from collective_matmul.jax._function import all_gather_matmul, all_gather_matmul_local
from collective_matmul.jax._rings import ring_mesh

__all__ = ["all_gather_matmul", "all_gather_matmul_local", "ring_mesh"]

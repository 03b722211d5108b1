"""The all-gather matmul on numpy arrays; ranks are threads or processes of this host.

    out_r [m, n_r] = epilogue(all_gather(x) [m, k] @ y_r [k, n_r])      for each of P ranks

A whole product at once::

    out = all_gather_matmul(x, y, ranks=4)

As a program of ranks, which keeps packed weights and plan from call to call::

    def body(mesh):
        tp = mesh.axis()
        weights = Weights.pack(y[:, columns_of(tp.rank)])          # once per layer
        call = plan(tp, m=m, k=k, n_local=weights.n)               # once per shape
        return call(x[rows_of(tp.rank)], weights)                  # [m, n_r]

    outs = run_ranks(4, body)

Elements are float32, float16 or ml_dtypes.bfloat16. Every function says whether all ranks must call
it (collective), and every wait ends with an error after a deadline.
"""

from collective_matmul import tpu
from collective_matmul.numpy._mesh import Axis, Mesh, run_ranks
from collective_matmul.numpy._plan import Plan, Weights, plan
from collective_matmul.numpy._product import all_gather_matmul
from collective_matmul.simulation import RankSimulation, simulate
from collective_matmul.timeline import Timeline
from collective_matmul.tpu import verify

__all__ = [
    "Axis",
    "Mesh",
    "Plan",
    "RankSimulation",
    "Timeline",
    "Weights",
    "all_gather_matmul",
    "plan",
    "run_ranks",
    "simulate",
    "tpu",
    "verify",
]

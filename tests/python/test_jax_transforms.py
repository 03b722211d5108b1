"""The function under JAX's transformations and on all meshes, with values, on CPU devices.

Whole numbers, so that every sum is exact in f32 and must match bit for bit.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from collective_matmul import UnsupportedError
from collective_matmul.jax import all_gather_matmul, all_gather_matmul_local, ring_mesh

M, K, N = 64, 48, 80
SHAPES = [
    {"tp": 4},
    {"dp": 2, "tp": 2},
    {"tp": 2, "dp": 2},
    {"a": 2, "tp": 2, "b": 2},
    {"tp": 1},
]


def mesh_of(shape: dict[str, int]) -> Mesh:
    return ring_mesh(jax.devices()[: math.prod(shape.values())], "tp", shape=shape)


def values(*extents, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, extents).astype(np.float32)


X, Y, WEIGHTS = values(M, K), values(K, N, seed=1), values(M, N, seed=2)


@pytest.fixture(params=SHAPES, ids=str)
def mesh(request) -> Mesh:
    return mesh_of(request.param)


@pytest.fixture(params=[SHAPES[0], SHAPES[2]], ids=str)
def a_mesh(request) -> Mesh:
    """For what depends little on the mesh and takes long to compile."""
    return mesh_of(request.param)


@pytest.fixture(params=SHAPES[1:3], ids=str)
def mesh_2d(request) -> Mesh:
    return mesh_of(request.param)


def same(got, expected) -> None:
    got, expected = jax.tree.leaves(got), jax.tree.leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def loss(f):
    """A loss whose gradient at the result of f is known and differs by element."""
    return lambda *args: (f(*args) * WEIGHTS).sum()


def of(mesh, **options):
    return lambda x, y: all_gather_matmul(x, y, mesh, "tp", **options)


def product(x, y):
    return x @ y


def test_eager_and_jit(mesh):
    same(of(mesh)(X, Y), X @ Y)
    same(jax.jit(of(mesh))(X, Y), X @ Y)
    out = jax.jit(of(mesh))(X, Y)
    assert out.sharding.is_equivalent_to(NamedSharding(mesh, P(None, "tp")), 2)


def test_forms(mesh):
    same(of(mesh, rhs_transpose=True)(X, Y.T), X @ Y)
    same(of(mesh)(X, [Y, 2 * Y[:, :40]]), [X @ Y, X @ (2 * Y[:, :40])])
    same(of(mesh, return_gathered=True)(X, Y), (X @ Y, X))
    same(of(mesh, return_gathered=True)(X, [Y]), ([X @ Y], X))
    same(of(mesh, activation="relu")(X, Y), np.maximum(X @ Y, 0))
    same(of(mesh, algorithm="sequential", activation="relu")(X, Y), np.maximum(X @ Y, 0))
    swiglu = of(mesh, swiglu=True)(X / 8, [Y, Y + 1])
    np.testing.assert_allclose(
        swiglu, jax.nn.silu(X / 8 @ Y) * (X / 8 @ (Y + 1)), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("m, n", [(61, 80), (64, 77), (1, 1), (61, 77)])
def test_ragged_extents(a_mesh, m, n):
    same(of(a_mesh, return_gathered=True)(X[:m], Y[:, :n]), (X[:m] @ Y[:, :n], X[:m]))
    expected = jax.grad(lambda x, y: ((x @ y) * WEIGHTS[:m, :n]).sum(), (0, 1))(X[:m], Y[:, :n])
    ours = jax.grad(lambda x, y: (of(a_mesh)(x, y) * WEIGHTS[:m, :n]).sum(), (0, 1))
    same(ours(X[:m], Y[:, :n]), expected)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_narrow_types(mesh, dtype):
    x, y = jnp.asarray(X, dtype), jnp.asarray(Y, dtype)
    same(of(mesh)(x, y), jnp.asarray(X @ Y, dtype))
    same(of(mesh, out_dtype=jnp.float32)(x, y), jnp.asarray(X @ Y))


def test_whole_numbers_are_for_tpus():
    x, y = X.astype(np.int8), Y.astype(np.int8)
    with pytest.raises(UnsupportedError, match="int8"):
        of(mesh_of({"tp": 4}))(x, y)


def test_gradient(mesh):
    expected = jax.grad(loss(product), (0, 1))(X, Y)
    for transform in (lambda f: f, jax.jit, lambda f: jax.jit(jax.checkpoint(f))):
        same(jax.grad(loss(transform(of(mesh))), (0, 1))(X, Y), expected)
    of_transposed = jax.grad(loss(of(mesh, rhs_transpose=True)), (0, 1))(X, Y.T)
    same(of_transposed, (expected[0], expected[1].T))


def test_gradient_of_all_results(a_mesh):
    def plain(x, gate, up):
        return (jax.nn.relu(x @ gate) * WEIGHTS).sum() + (x @ up).sum() + (x * X).sum()

    def ours(x, gate, up):
        (a, b), gathered = of(a_mesh, activation=["relu", "none"], return_gathered=True)(
            x, [gate, up]
        )
        return (a * WEIGHTS).sum() + b.sum() + (gathered * X).sum()

    args = X, Y, Y[:, :40] + 1
    same(jax.grad(ours, (0, 1, 2))(*args), jax.grad(plain, (0, 1, 2))(*args))


def test_gradient_of_swiglu(a_mesh):
    def plain(x, gate, up):
        return jax.nn.silu(x @ gate) * (x @ up)

    def ours(x, gate, up):
        return of(a_mesh, swiglu=True)(x, [gate, up])

    args = X / 8, Y, Y + 1
    for a, b in zip(*(jax.grad(loss(f), (0, 1, 2))(*args) for f in (ours, plain))):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)


def test_gradient_of_a_gradient(a_mesh):
    def norm(f):
        return lambda x, y: (jax.grad(loss(f))(x, y) ** 2).sum()

    same(jax.grad(norm(of(a_mesh)), 1)(X, Y), jax.grad(norm(product), 1)(X, Y))


def test_vmap(a_mesh):
    xs, ys = values(3, M, K, seed=3), values(3, K, N, seed=4)
    same(jax.vmap(of(a_mesh), (0, None))(xs, Y), xs @ Y)
    same(jax.vmap(of(a_mesh), (None, 0), 1)(X, ys), np.moveaxis(X @ ys, 0, 1))
    same(jax.jit(jax.vmap(of(a_mesh)))(xs, ys), xs @ ys)
    total = lambda f: lambda x, y: (jax.vmap(f, (0, None))(x, y) * WEIGHTS).sum()
    gradients = [jax.grad(total(f), (0, 1))(xs, Y) for f in (of(a_mesh), product)]
    same(*gradients)
    each = [jax.vmap(jax.grad(loss(f)), (0, None))(xs, Y) for f in (of(a_mesh), product)]
    same(*each)


def test_scan_over_layers(a_mesh):
    ys = values(4, K, K, seed=5)

    def layers(f):
        return lambda x, ys: lax.scan(lambda x, y: (jnp.clip(f(x, y), -3, 3), None), x, ys)[0]

    same(jax.jit(layers(of(a_mesh)))(X, ys), layers(product)(X, ys))
    total = lambda f: lambda x, ys: layers(f)(x, ys).sum()
    ours, expected = (jax.grad(total(f), (0, 1))(X, ys) for f in (of(a_mesh), product))
    same(ours, expected)


def test_batches_along_another_axis(mesh_2d):
    batched = of(mesh_2d, batch_axis="dp", return_gathered=True)
    same(batched(X, Y), (X @ Y, X))
    same(batched(X[:61], Y[:, :77]), (X[:61] @ Y[:, :77], X[:61]))
    one = of(mesh_2d, batch_axis="dp")
    assert one(X, Y).sharding.is_equivalent_to(NamedSharding(mesh_2d, P("dp", "tp")), 2)
    same(jax.grad(loss(one), (0, 1))(X, Y), jax.grad(loss(product), (0, 1))(X, Y))


@pytest.mark.parametrize("batch_axis", ["a", "b"])
def test_batches_along_either_of_two_other_axes(batch_axis):
    mesh = mesh_of({"a": 2, "tp": 2, "b": 2})
    same(of(mesh, batch_axis=batch_axis, return_gathered=True)(X, Y), (X @ Y, X))


@pytest.mark.parametrize("check_vma", [True, False])
def test_in_a_shard_map_of_the_user(mesh_2d, check_vma):
    local = jax.shard_map(
        lambda x, y: all_gather_matmul_local(x, y, "tp"),
        mesh=mesh_2d,
        in_specs=(P(("dp", "tp"), None), P(None, "tp")),
        out_specs=P("dp", "tp"),
        check_vma=check_vma,
    )
    expected = jax.grad(loss(product), (0, 1))(X, Y)
    for transform in (lambda f: f, jax.jit):
        same(transform(local)(X, Y), X @ Y)
        same(transform(jax.grad(loss(local), (0, 1)))(X, Y), expected)
    xs = values(3, M, K, seed=3)
    same(jax.vmap(local, (0, None))(xs, Y), xs @ Y)


def test_arrays_that_are_not_of_jax_are_converted_as_jax_does():
    mesh = mesh_of({"tp": 4})
    rows = X[:4].astype(np.float64)
    local = jax.shard_map(
        lambda y: all_gather_matmul_local(rows, y, "tp"),
        mesh=mesh, in_specs=P(None, "tp"), out_specs=P(None, "tp"),
    )
    same(jax.jit(local)(Y), np.tile(X[:4], (4, 1)) @ Y)
    same(of(mesh)(X.astype(np.float64), Y.astype(np.float64)), X @ Y)


@pytest.mark.skipif(
    (0, 7) <= tuple(int(part) for part in jax.__version__.split(".")[:2]) < (0, 10),
    reason="this JAX cannot tell a device its place on an outer axis in a nested shard_map",
)
def test_in_a_nested_shard_map():
    mesh = mesh_of({"dp": 2, "tp": 2})

    def outer(x, y):
        inner = jax.shard_map(
            lambda x, y: all_gather_matmul_local(x, y, "tp"),
            in_specs=(P("tp", None), P(None, "tp")),
            out_specs=P(None, "tp"),
            axis_names={"tp"},
        )
        return inner(x, y)

    f = jax.shard_map(
        outer, mesh=mesh, in_specs=(P("dp", None), P()), out_specs=P("dp", None), axis_names={"dp"}
    )
    same(jax.jit(f)(X, Y), X @ Y)


def test_explicit_axis_types():
    mesh = Mesh(mesh_of({"tp": 4}).devices, ("tp",), axis_types=(AxisType.Explicit,))
    expected = jax.grad(loss(product), (0, 1))(X, Y)
    use_mesh = jax.set_mesh if hasattr(jax, "set_mesh") else jax.sharding.use_mesh
    with use_mesh(mesh):
        same(of(mesh)(X, Y), X @ Y)
        same(of(mesh)(X[:61], Y[:, :77]), X[:61] @ Y[:, :77])
        same(jax.grad(loss(of(mesh)), (0, 1))(X, Y), expected)


def test_donation():
    x = jax.device_put(values(64, 64), NamedSharding(mesh_of({"tp": 4}), P("tp", None)))
    y = values(64, 64, seed=1)
    donating = jax.jit(of(mesh_of({"tp": 4})), donate_argnums=0)
    same(donating(x, y), values(64, 64) @ y)
    assert x.is_deleted()

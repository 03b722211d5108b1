"""The JAX function on CPU devices, through the public function where it will do."""

import faulthandler
import os
import re
import threading
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from collective_matmul import UnsupportedError, _core
from collective_matmul.jax import all_gather_matmul, all_gather_matmul_local
from collective_matmul.jax._primitive import all_gather_matmul_p

faulthandler.dump_traceback_later(560, exit=True)  # a hang says where

AXIS = "tp"
DTYPES = ["float32", "bfloat16", "float16"]
NAMES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def mesh_of(num_devices: int, first: int = 0) -> Mesh:
    return Mesh(np.array(jax.devices()[first : first + num_devices]), (AXIS,))


def mesh_2d(rows: int, columns: int) -> Mesh:
    return Mesh(np.array(jax.devices()[: rows * columns]).reshape(rows, columns), ("dp", AXIS))


def matrix(seed: int, rows: int, columns: int, dtype="float32") -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((rows, columns), dtype=np.float32)
    return values.astype(jnp.dtype(dtype))


def wide(array) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


def assert_is_product(out, x, y) -> None:
    """Within what sums of f32 in any order and one rounding may differ from the exact product."""
    x, y, out_dtype = wide(x), wide(y), np.asarray(out).dtype
    sums = np.abs(x) @ np.abs(y)
    rounding = {"float32": 0.0, "bfloat16": 2.0**-8, "float16": 2.0**-11}[out_dtype.name]
    bound = (x.shape[1] + 2) * 2.0**-23 * sums + rounding * np.abs(x @ y) + 1e-7
    assert np.all(np.abs(wide(out) - x @ y) <= bound)


def engine_result(x, y, num_ranks: int, out_dtype: str) -> np.ndarray:
    """The same product by ranks that are threads, without JAX."""
    m, k = x.shape
    n = y.shape[1] // num_ranks
    dtype = x.dtype.name
    out = np.zeros((num_ranks, m, n), dtype=jnp.dtype(out_dtype))
    meshes = _core.Mesh.threads([("ranks", num_ranks)])
    failures = []

    def refer(array, dtype):
        row, column = (stride // array.itemsize for stride in array.strides)
        return _core.Matrix(array.ctypes.data, NAMES[dtype], *array.shape, row, column)

    def run(rank: int) -> None:
        try:
            plan = _core.Plan.make(
                meshes[rank].axis("ranks"),
                m=m,
                k=k,
                n_local=[n],
                dtype=NAMES[dtype],
                out_dtype=NAMES[out_dtype],
            )
            mine = x[rank * m // num_ranks : (rank + 1) * m // num_ranks]
            weights = _core.Weights.pack(
                refer(y[:, rank * n : (rank + 1) * n], dtype), engine="own"
            )
            _core.all_gather_matmul(
                plan, refer(mine, dtype), [weights], [refer(out[rank], out_dtype)]
            )
        except Exception as error:  # told to the test's thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(num_ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    return np.concatenate(list(out), axis=1)


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("m_local, k, n_local", [(1, 64, 32), (5, 33, 7), (70, 130, 65)])
def test_product(num_ranks, dtype, transposed, m_local, k, n_local):
    x = matrix(1, num_ranks * m_local, k, dtype)
    y = matrix(2, k, num_ranks * n_local, dtype)
    given = np.ascontiguousarray(y.T) if transposed else y
    out = all_gather_matmul(x, given, mesh_of(num_ranks), AXIS, rhs_transpose=transposed)
    assert out.dtype == jnp.dtype(dtype)
    assert_is_product(out, x, y)
    assert np.array_equal(np.asarray(out), engine_result(x, y, num_ranks, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_size_of_wave(dtype):
    """One row a device, decode, prefill, and more rows than a wave has."""
    y = matrix(3, 48, 4 * 24, dtype)
    call = jax.jit(lambda x, y: all_gather_matmul(x, y, mesh_of(4), AXIS))
    for m in (4, 16, 20, 64, 1028, 2400):
        x = matrix(m, m, 48, dtype)
        assert np.array_equal(np.asarray(call(x, y)), engine_result(x, y, 4, dtype))


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_epilogues(num_ranks):
    mesh = mesh_of(num_ranks)
    x, gate, up = matrix(1, 12, 40), matrix(2, 40, 32), matrix(3, 40, 32)

    def silu(z):
        return z / (1 + np.exp(-z))

    product = wide(x) @ wide(gate)
    out = all_gather_matmul(x, gate, mesh, AXIS, activation="silu")
    np.testing.assert_allclose(out, silu(product), rtol=1e-4, atol=1e-4)
    out = all_gather_matmul(x, gate, mesh, AXIS, activation="relu", out_dtype="bfloat16")
    assert out.dtype == jnp.bfloat16
    np.testing.assert_allclose(wide(out), np.maximum(product, 0), rtol=2**-7, atol=1e-4)
    out = all_gather_matmul(x, [gate, up], mesh, AXIS, swiglu=True)
    np.testing.assert_allclose(out, silu(product) * (wide(x) @ wide(up)), rtol=1e-3, atol=1e-3)
    both, gathered = all_gather_matmul(
        x, [gate, up[:, :16]], mesh, AXIS, activation=["relu", "none"], return_gathered=True
    )
    np.testing.assert_allclose(both[0], np.maximum(product, 0), rtol=1e-4, atol=1e-4)
    assert_is_product(both[1], x, up[:, :16])
    assert np.array_equal(gathered, x)


def test_many_right_sides_on_many_devices():
    """More than fit one plan of the engine."""
    x = matrix(1, 16, 24)
    ys = [matrix(10 + i, 24, 8 * (i + 1)) for i in range(11)]
    for out, y in zip(all_gather_matmul(x, ys, mesh_of(8), AXIS), ys):
        assert_is_product(out, x, y)


@pytest.mark.parametrize("num_ranks", [2, 8])
@pytest.mark.parametrize("wait", [True, False], ids=["waited", "in flight"])
def test_a_thousand_launches(num_ranks, wait):
    mesh = mesh_of(num_ranks)
    x = jax.device_put(matrix(1, num_ranks, 16), NamedSharding(mesh, P(AXIS, None)))
    y = jax.device_put(matrix(2, 16, num_ranks * 8), NamedSharding(mesh, P(None, AXIS)))
    call = jax.jit(lambda x, y, scale: all_gather_matmul(x * scale, y, mesh, AXIS))
    expected = np.asarray(call(x, y, 1.0))
    outs = []
    for i in range(1000):
        outs.append(call(x, y, 2.0 ** (i % 7)))
        if wait:
            outs[-1].block_until_ready()
    for i, out in enumerate(outs):
        assert np.array_equal(np.asarray(out), expected * 2.0 ** (i % 7))


@pytest.mark.parametrize("num_ranks", [2, 8])
def test_a_chain_in_scan(num_ranks):
    """The same site many times in a run, each call on the result of the one before."""
    mesh = mesh_of(num_ranks)
    x = matrix(1, 16, 64)
    ys = np.stack([matrix(2 + i, 64, 64) / 8 for i in range(12)])

    @jax.jit
    def chain(x, ys):
        return lax.scan(lambda x, y: (all_gather_matmul(x, y, mesh, AXIS), None), x, ys)[0]

    def one_by_one():
        out = x
        for y in ys:
            out = all_gather_matmul(out, y, mesh, AXIS)
        return np.asarray(out)

    expected = one_by_one()
    for out in [chain(x, ys) for _ in range(20)]:
        assert np.array_equal(np.asarray(out), expected)


def test_independent_sites_of_one_program():
    """The runtime calls them in another order on each device."""
    mesh = mesh_of(8)
    num_sites = 24
    x = matrix(1, 64, 96)
    ys = [matrix(2 + i, 96, 64) for i in range(num_sites)]
    before = [matrix(50 + i, 96, 96) for i in range(num_sites)]

    def local(x, before, ys):
        return tuple(
            all_gather_matmul_local((x @ b) @ b.T, y, AXIS, mesh=mesh) for b, y in zip(before, ys)
        )

    call = jax.jit(
        jax.shard_map(
            local,
            mesh=mesh,
            in_specs=(P(AXIS, None), P(), P(None, AXIS)),
            out_specs=P(None, AXIS),
            check_vma=False,
        )
    )
    runs = [call(x, before, ys) for _ in range(20)]
    for b, y, *outs in zip(before, ys, *runs):
        exact = ((wide(x) @ wide(b)) @ wide(b).T) @ wide(y)
        np.testing.assert_allclose(outs[0], exact, rtol=1e-3, atol=0.5)
        for out in outs[1:]:
            assert np.array_equal(np.asarray(out), np.asarray(outs[0]))


def test_groups_of_a_mesh_of_two_axes():
    mesh = mesh_2d(2, 4)
    x, y = matrix(1, 16, 24), matrix(2, 24, 32)
    call = jax.jit(lambda x, y: all_gather_matmul(x, y, mesh, AXIS, batch_axis="dp"))
    for _ in range(50):
        assert_is_product(call(x, y), x, y)
    assert_is_product(all_gather_matmul(x, y, mesh, "dp"), x, y)
    assert_is_product(all_gather_matmul(x, y, mesh, AXIS), x, y)


def test_followed_by_a_sum_over_the_devices():
    """What a device does after a call may wait for the others, so each needs its own thread."""
    mesh = mesh_of(8)
    x, y, down = matrix(1, 16, 64), matrix(2, 64, 128), matrix(3, 128, 64)

    def local(x, y, down):
        for _ in range(3):
            h = all_gather_matmul_local(x, y, AXIS, mesh=mesh)
            x = lax.psum_scatter(h @ down, AXIS, scatter_dimension=0, tiled=True) / 64
        return x

    call = jax.jit(
        jax.shard_map(
            local,
            mesh=mesh,
            in_specs=(P(AXIS, None), P(None, AXIS), P(AXIS, None)),
            out_specs=P(AXIS, None),
            check_vma=False,
        )
    )
    exact = wide(x)
    for _ in range(3):
        exact = exact @ wide(y) @ wide(down) / 64
    for out in [call(x, y, down) for _ in range(100)]:
        np.testing.assert_allclose(out, exact, rtol=1e-3, atol=1e-2 * np.abs(exact).max())


def test_donated_operands():
    mesh = mesh_of(4)
    x, y = matrix(1, 64, 64), matrix(2, 64, 64)
    call = jax.jit(lambda x, y: all_gather_matmul(x, y, mesh, AXIS), donate_argnums=(0, 1))
    for _ in range(20):
        out = call(
            jax.device_put(x, NamedSharding(mesh, P(AXIS, None))),
            jax.device_put(y, NamedSharding(mesh, P(None, AXIS))),
        )
        assert_is_product(out, x, y)


def test_threads_that_launch_programs_on_the_same_and_on_other_devices():
    failures = []

    def launch(seed: int, mesh: Mesh) -> None:
        try:
            x, y = matrix(seed, 16, 32), matrix(seed + 1, 32, 64)
            call = jax.jit(lambda x, y: all_gather_matmul(x, y, mesh, AXIS))
            # More in flight from several threads stop XLA itself, with its own gather as with ours.
            for _ in range(20):
                for out in [call(x, y) for _ in range(5)]:
                    assert_is_product(out, x, y)
        except BaseException as error:
            failures.append(error)

    meshes = [mesh_of(8), mesh_of(4), mesh_of(4, first=4), mesh_of(8)]
    threads = [threading.Thread(target=launch, args=(i, mesh)) for i, mesh in enumerate(meshes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_programs_go_while_others_run():
    mesh = mesh_of(4)
    x, y = matrix(1, 8, 32), matrix(2, 32, 64)
    running = jax.jit(lambda x, y: all_gather_matmul(x, y, mesh, AXIS))
    running(x, y)
    for i in range(8):
        passing = jax.jit(lambda x, y: all_gather_matmul(x + i, y, mesh, AXIS))
        outs = [running(x, y) for _ in range(20)]
        passing(x, y).block_until_ready()
        del passing
        for out in outs:
            assert_is_product(out, x, y)
    assert _core.ffi.num_sites() > 0
    del running, outs
    jax.clear_caches()
    assert _core.ffi.num_sites() == 0
    assert _core.ffi.num_open_meetings() == 0


def shard_map_of(local, mesh):
    return jax.jit(
        jax.shard_map(
            local,
            mesh=mesh,
            in_specs=(P(AXIS, None), P(None, AXIS)),
            out_specs=P(None, AXIS),
            check_vma=False,
        )
    )


def assert_fails_then_works(failing, pattern: str, x, y, mesh) -> None:
    with pytest.raises(Exception, match=pattern):
        jax.block_until_ready(failing(x, y))
    assert_is_product(all_gather_matmul(x, y, mesh, AXIS), x, y)


def product_without(rank: int, mesh, deadline_seconds: float):
    """Each device's part of a product to which that rank never comes."""

    def local(x, y):
        return lax.cond(
            lax.axis_index(AXIS) == rank,
            lambda: jnp.zeros((mesh.size * len(x), y.shape[1]), jnp.float32),
            lambda: all_gather_matmul_local(
                x, y, AXIS, mesh=mesh, deadline_seconds=deadline_seconds
            ),
        )

    return local


def test_a_rank_that_never_comes():
    mesh = mesh_of(4)
    x, y = matrix(1, 8, 32), matrix(2, 32, 64)

    local = product_without(2, mesh, deadline_seconds=2.0)
    pattern = r"after 2000 ms, rank\(s\) 2 of 4 have not come to call 0 .*\(s\) 0, 1, 3 are there"
    for _ in range(2):
        assert_fails_then_works(shard_map_of(local, mesh), pattern, x, y, mesh)


def test_a_device_that_fails_is_told_to_all_at_once():
    """One does not know its rank; all fail for that reason, long before the deadline."""
    mesh = mesh_of(4)
    x, y = matrix(1, 8, 32), matrix(2, 32, 64)

    def local(x, y):
        rank = jnp.where(lax.axis_index(AXIS) == 1, 7, lax.axis_index(AXIS))
        return all_gather_matmul_p.bind(
            x,
            y,
            jnp.stack([rank, 0]).astype(jnp.int32),
            num_ranks=4,
            num_groups=1,
            rhs_transpose=False,
            return_gathered=False,
            activations=(),
            swiglu=False,
            out_dtype=None,
            algorithm=None,
            deadline_seconds=600.0,
            tpu=None,
        )[0]

    failing = shard_map_of(local, mesh)
    for _ in range(3):
        assert_fails_then_works(failing, "a device says that it is rank 7 of group 0", x, y, mesh)


def test_deadlines_that_pass_while_devices_come():
    """Several calls of a run are overdue at once; some of their devices come at that moment."""
    mesh = mesh_of(8)
    x, ys = matrix(1, 64, 96), [matrix(2 + i, 96, 64) for i in range(24)]
    for deadline in (0.003, 0.004, 0.006, 0.008, 0.012):

        def local(x, ys):
            return tuple(
                all_gather_matmul_local(x + i, y, AXIS, deadline_seconds=deadline)
                for i, y in enumerate(ys)
            )

        call = jax.jit(
            jax.shard_map(
                local,
                mesh=mesh,
                in_specs=(P(AXIS, None), P(None, AXIS)),
                out_specs=P(None, AXIS),
                check_vma=False,
            )
        )
        for _ in range(60):
            try:
                outs = jax.block_until_ready(call(x, ys))
            except jax.errors.JaxRuntimeError as error:
                # That devices have not come, or, where all have, that other calls keep the cores.
                assert re.search("DEADLINE_EXCEEDED: .*collective_matmul: ", str(error))
                continue
            for i in (0, 23):
                assert_is_product(outs[i], x + np.float32(i), ys[i])
    assert_is_product(all_gather_matmul(x, ys[0], mesh, AXIS), x, ys[0])


def test_slots_of_failed_runs_go():
    mesh = mesh_of(2)
    x, y = matrix(1, 8, 32), matrix(2, 32, 64)

    local = product_without(0, mesh, deadline_seconds=3.0)

    def wait_for_none_open():
        for _ in range(200):
            if _core.ffi.num_open_meetings() == 0:
                return
            time.sleep(0.1)
        assert _core.ffi.num_open_meetings() == 0

    wait_for_none_open()  # those of other tests
    with pytest.raises(Exception, match="have not come"):
        jax.block_until_ready(shard_map_of(local, mesh)(x, y))
    assert _core.ffi.num_open_meetings() == 1
    wait_for_none_open()


def test_refusals():
    mesh = mesh_of(2)
    x, y = matrix(1, 8, 32), matrix(2, 32, 64)
    with pytest.raises(UnsupportedError, match="int8 on CPU devices.*float32, bfloat16 and"):
        all_gather_matmul(x.astype(np.int8), y.astype(np.int8), mesh, AXIS)
    with pytest.raises(UnsupportedError, match="'ring' on CPU devices.*'direct'"):
        all_gather_matmul(x, y, mesh, AXIS, algorithm="ring")

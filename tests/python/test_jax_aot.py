"""Programs with the function in them, compiled for TPUs by libtpu, without a TPU.

That a program compiles says that the compiler takes it; what it computes is proved elsewhere: the
kernel on virtual devices (test_jax.py, `cmm tpu verify`), all around it on CPUs.
"""

import os
from pathlib import Path

# Read when libtpu is loaded: much the same that `cmm tpu compile` sets for it.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
os.environ["TPU_LOG_DIR"] = "disabled"
os.environ["TPU_MIN_LOG_LEVEL"] = "3"  # else it leaves files of its log in /tmp
os.environ["TPU_WORKER_HOSTNAMES"] = "localhost"
os.environ["TPU_WORKER_ID"] = "0"

import functools
import math
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from collective_matmul import InvalidArgumentError, UnsupportedError
from collective_matmul.jax import (
    all_gather_matmul,
    all_gather_matmul_local,
    get_kernel_name,
    ring_mesh,
)
from collective_matmul.jax._rings import longest_hop

JAX = tuple(int(part) for part in jax.__version__.split(".")[:2])
VERSION = "0.0.52" if JAX >= (0, 8) else "0.0.24"
LIBTPU = Path(__file__).parents[2] / "build" / "libtpu" / VERSION / "libtpu.so"
if not LIBTPU.exists():
    pytest.skip(
        f"{LIBTPU} is not there; `tools/get_libtpu {VERSION} build/libtpu` fetches it",
        allow_module_level=True,
    )
os.environ["TPU_LIBRARY_PATH"] = str(LIBTPU)
CHIPS = {"v4": "v4:2x2x1", "v5e": "v5e:2x4", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2"}
if JAX >= (0, 8):  # libtpu 0.0.24 has not heard of it
    CHIPS["7x"] = "tpu7x:2x2x1"


@functools.cache
def devices(topology: str) -> list:
    return topologies.get_topology_desc(topology, platform="tpu").devices


@pytest.fixture(params=CHIPS)
def mesh(request) -> Mesh:
    return ring_mesh(devices(CHIPS[request.param]), "tp")


@pytest.fixture
def v6e() -> Mesh:
    return ring_mesh(devices("v6e:2x2"), "tp")


def array(mesh, spec, *extents, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(extents, dtype, sharding=NamedSharding(mesh, spec))


def operands(mesh, m=256, k=512, n=1024, dtype=jnp.bfloat16, rhs_transpose=False):
    y = (P("tp", None), n, k) if rhs_transpose else (P(None, "tp"), k, n)
    return array(mesh, P("tp", None), m, k, dtype=dtype), array(mesh, *y, dtype=dtype)


def compiled(f, *args, **jit_options):
    return jax.jit(f, **jit_options).lower(*args).compile()


def kernels(executable) -> list[str]:
    """Names of the kernels in it, as a profile shows them."""
    return re.findall(r"%(all_gather_matmul[\w.]*?)(?:\.\d+)? = [^=]*custom-call", text(executable))


def text(executable) -> str:
    try:
        return executable.as_text()
    except jax.errors.JaxRuntimeError as error:
        pytest.skip(f"this libtpu cannot print the program: {error}")


def squares(f):
    """A loss, so that a gradient needs the result of the kernel as well as its rule."""
    return lambda *args: sum((jnp.float32(out) ** 2).sum() for out in jax.tree.leaves(f(*args)))


def test_forward(mesh):
    x, y = operands(mesh)
    executable = compiled(lambda x, y: all_gather_matmul(x, y, mesh, "tp"), x, y)
    assert kernels(executable) == [get_kernel_name(x, y, mesh, "tp")]


def test_gradient(mesh):
    x, y = operands(mesh)
    loss = squares(lambda x, y: all_gather_matmul(x, y, mesh, "tp"))
    compiled(jax.value_and_grad(loss, (0, 1)), x, y)


def test_vmap_and_its_gradient(mesh):
    x, y = operands(mesh)
    x = array(mesh, P(None, "tp", None), 3, *x.shape)
    batched = jax.vmap(lambda x, y: all_gather_matmul(x, y, mesh, "tp"), (0, None))
    compiled(batched, x, y)
    compiled(jax.grad(squares(batched), (0, 1)), x, y)


def test_scan_over_layers_with_remat_and_gradient(mesh):
    def loss(x, ys):
        def layer(x, y):
            out = all_gather_matmul(x, y, mesh, "tp")
            return jax.nn.silu(lax.with_sharding_constraint(out, row_split)), None

        row_split = NamedSharding(mesh, P("tp", None))
        return jnp.float32(lax.scan(jax.checkpoint(layer), x, ys)[0]).sum()

    x, ys = array(mesh, P("tp", None), 256, 512), array(mesh, P(None, None, "tp"), 4, 512, 512)
    compiled(jax.grad(loss, (0, 1)), x, ys)


def test_all_forms(mesh):
    """Each in a program of its own: transposed y, types, several right sides, ragged extents."""
    two = lambda x, y, **o: all_gather_matmul(x, [y, 2 * y], mesh, "tp", **o)
    one = lambda x, y, **o: all_gather_matmul(x, y, mesh, "tp", **o)
    transposed = operands(mesh, rhs_transpose=True)
    ragged = jax.ShapeDtypeStruct((101, 300), jnp.bfloat16), operands(mesh, k=300)[1]
    for f, args in [
        (functools.partial(one, rhs_transpose=True), transposed),
        (squares(functools.partial(one, rhs_transpose=True)), transposed),
        (one, operands(mesh, dtype=jnp.float32)),
        (functools.partial(one, out_dtype=jnp.float32), operands(mesh)),
        (functools.partial(one, return_gathered=True), operands(mesh)),
        (functools.partial(two, return_gathered=True), operands(mesh)),
        (functools.partial(two, activation=["silu", "none"]), operands(mesh)),
        (functools.partial(two, swiglu=True), operands(mesh)),
        (functools.partial(one, bn=128, bk=256), operands(mesh)),
        (functools.partial(one, algorithm="sequential"), operands(mesh)),
        (functools.partial(one, return_gathered=True), ragged),
    ]:
        compiled(f, *args)
    grad = jax.grad(squares(functools.partial(two, swiglu=True, return_gathered=True)), (0, 1))
    compiled(grad, *operands(mesh))


def test_local_form_in_a_shard_map_of_the_user(mesh):
    for check_vma in (True, False):
        f = jax.shard_map(
            lambda x, y: jnp.tanh(all_gather_matmul_local(x * 2, y, "tp", mesh=mesh)),
            mesh=mesh,
            in_specs=(P("tp", None), P(None, "tp")),
            out_specs=P(None, "tp"),
            check_vma=check_vma,
        )
        compiled(f, *operands(mesh))
        compiled(jax.grad(squares(f), (0, 1)), *operands(mesh))


def test_local_form_needs_no_mesh_where_shard_map_tells_its_devices(v6e):
    specs = {"in_specs": (P("tp", None), P(None, "tp")), "out_specs": P(None, "tp")}

    def local(**options):
        return jax.shard_map(
            lambda x, y: all_gather_matmul_local(x, y, "tp", **options), mesh=v6e, **specs
        )

    compiled(local(chip="v6e"), *operands(v6e))
    if hasattr(v6e.abstract_mesh, "abstract_device"):
        compiled(local(), *operands(v6e))
    else:
        with pytest.raises(UnsupportedError, match="give chip="):
            compiled(local(), *operands(v6e))


def test_in_a_branch_that_all_devices_take_alike(v6e):
    def either(flag, x, y):
        zeros = jnp.zeros((256, 1024), x.dtype)
        return lax.cond(flag, lambda: all_gather_matmul(x, y, v6e, "tp"), lambda: zeros)

    compiled(either, jax.ShapeDtypeStruct((), jnp.bool_), *operands(v6e))


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.float8_e4m3fn])
def test_narrow_types(dtype):
    chip = "v6e" if dtype == jnp.int8 or JAX < (0, 8) else "7x"
    mesh = ring_mesh(devices(CHIPS[chip]), "tp")
    args = operands(mesh, dtype=dtype)
    compiled(lambda x, y: all_gather_matmul(x, y, mesh, "tp"), *args)
    compiled(lambda x, y: all_gather_matmul(x, y, mesh, "tp", out_dtype=jnp.bfloat16), *args)


@pytest.mark.parametrize("names", [("dp", "tp"), ("tp", "dp")])
def test_a_mesh_of_two_axes(names):
    sizes = {"dp": 2, "tp": 4}
    mesh = ring_mesh(devices("v5e:2x4"), "tp", shape={name: sizes[name] for name in names})
    x, y = operands(mesh)
    replicated = lambda x, y: all_gather_matmul(x, y, mesh, "tp")
    compiled(jax.grad(squares(replicated), (0, 1)), x, y)
    batch = array(mesh, P(("dp", "tp"), None), *x.shape)
    batched = lambda x, y: all_gather_matmul(x, y, mesh, "tp", batch_axis="dp")
    executable = compiled(batched, batch, y)
    assert executable.output_shardings.spec == P("dp", "tp")
    assert "all-gather" not in text(executable)  # each row of the mesh has its own rows of x
    compiled(jax.grad(squares(batched), (0, 1)), batch, y)


@pytest.mark.filterwarnings("ignore:neighbours along axis 'dp'")
def test_two_rings_in_one_program():
    mesh = ring_mesh(devices("v5e:2x4"), "tp", shape={"dp": 2, "tp": 4})
    x, y = operands(mesh)

    def two_rings(x, y):
        first = all_gather_matmul(x, y, mesh, "tp")
        return all_gather_matmul(first, jnp.ones((1024, 512), x.dtype), mesh, "dp", 1)

    assert len(kernels(compiled(two_rings, x, y))) == 2


def test_explicit_axis_types(v6e):
    mesh = Mesh(v6e.devices, ("tp",), axis_types=(AxisType.Explicit,))
    x, y = operands(mesh)
    f = lambda x, y: all_gather_matmul(x, y, mesh, "tp")
    use_mesh = jax.set_mesh if hasattr(jax, "set_mesh") else jax.sharding.use_mesh
    with use_mesh(mesh):
        compiled(f, x, y)
        compiled(jax.grad(squares(f), (0, 1)), x, y)
        # Sharded in other ways, and not to be sharded evenly.
        compiled(f, array(mesh, P(None, "tp"), *x.shape), array(mesh, P(), *y.shape))
        ragged = array(mesh, P(), 101, 512), array(mesh, P("tp", None), 512, 1024)
        assert compiled(f, *ragged).output_shardings.spec == P(None, "tp")
        ragged = array(mesh, P(), 101, 512), array(mesh, P("tp", None), 512, 1023)
        assert compiled(f, *ragged).output_shardings.is_fully_replicated
        compiled(jax.grad(squares(f), (0, 1)), *ragged)


def test_an_abstract_mesh_with_its_chip_named(v6e):
    x, y = operands(v6e)
    compiled(lambda x, y: all_gather_matmul(x, y, v6e.abstract_mesh, "tp", chip="v6e"), x, y)


def test_donation(v6e):
    args = operands(v6e, 1024, 1024, 1024)
    compiled(lambda x, y: all_gather_matmul(x, y, v6e, "tp"), *args, donate_argnums=0)


def test_one_device():
    mesh = Mesh(np.array(devices("v6e:2x2"))[:1], ("tp",))
    compiled(lambda x, y: all_gather_matmul(x, y, mesh, "tp", None), *operands(mesh))


def test_debug(v6e):
    compiled(lambda x, y: all_gather_matmul(x, y, v6e, "tp", debug=True), *operands(v6e))


def test_what_no_kernel_does_is_refused_before_it_is_lowered(v6e):
    x, y = operands(v6e)
    with pytest.raises(InvalidArgumentError, match="bn is 384"):
        jax.eval_shape(lambda x, y: all_gather_matmul(x, y, v6e, "tp", bn=384), x, y)
    x, y = operands(v6e, dtype=jnp.float16)
    with pytest.raises(InvalidArgumentError, match="x has dtype float16; the kernels multiply"):
        jax.eval_shape(lambda x, y: all_gather_matmul(x, y, v6e, "tp"), x, y)


def test_rings_run_along_neighbours():
    for topology in [*CHIPS.values(), "v6e:2x4", "v5p:2x2x2", "v5e:4x4"]:
        given = devices(topology)
        mesh = ring_mesh(given[::-1], "tp")
        assert longest_hop(mesh, "tp") == 1
        assert sorted(d.id for d in mesh.devices.flat) == sorted(d.id for d in given)
    for shape in [{"dp": 4, "tp": 4}, {"tp": 4, "dp": 4}, {"a": 2, "tp": 4, "b": 2}]:
        mesh = ring_mesh(devices("v5e:4x4"), "tp", shape=shape)
        assert mesh.shape == shape and longest_hop(mesh, "tp") == 1


def test_a_torus_is_closed_by_its_own_links():
    in_rows = sorted(devices("v5e:16x16"), key=lambda device: device.coords)
    mesh = Mesh(np.array(in_rows).reshape(16, 16), ("a", "b"))
    assert longest_hop(mesh, "a") == longest_hop(mesh, "b") == 1
    part = Mesh(mesh.devices[:8], ("a", "b"))  # half of it: its first axis is a line
    assert longest_hop(part, "a") == 7 and longest_hop(part, "b") == 1


def test_a_mesh_with_long_hops_warns_once():
    mesh = Mesh(np.array(devices("v6e:2x4")), ("tp",))
    x, y = operands(mesh)
    call = lambda x, y: all_gather_matmul(x, y, mesh, "tp")
    with pytest.warns(UserWarning, match="links apart on the chips.*ring_mesh"):
        jax.eval_shape(call, x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.eval_shape(lambda x, y: call(x, y), x, y)

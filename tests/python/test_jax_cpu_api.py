"""What the handlers for CPU devices and JAX must agree on, before and beside any call."""

import concurrent.futures
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest

jaxlib = pytest.importorskip("jaxlib")

FOLDER = pathlib.Path(__file__).resolve().parent
PACKAGE_SOURCES = FOLDER.parent.parent / "python" / "src"


def test_our_declarations_agree_with_the_headers_of_jaxlib():
    include = pathlib.Path(jaxlib.__file__).parent / "include"
    if not (include / "xla" / "ffi" / "api" / "c_api.h").exists():
        pytest.skip(f"jaxlib {jaxlib.__version__} comes without headers")
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    run = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof"]
        + [f"-I{PACKAGE_SOURCES}", "-isystem", str(include), str(FOLDER / "ffi_api.cpp")],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """What a fresh Python prints, warnings among it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PJRT_NPROC", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES")
    }
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**kept, "JAX_PLATFORMS": "cpu", **environment},
        timeout=200,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


EIGHT = "--xla_force_host_platform_device_count=8"
IMPORT = "import os, jax, collective_matmul.jax as cm; "
PRINT = "print('threads:', os.environ.get('PJRT_NPROC'))"
CALL = """
import numpy as np
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("tp",))
out = cm.all_gather_matmul(np.eye(8, dtype="float32"), np.eye(8, dtype="float32"), mesh, "tp")
assert np.array_equal(out, np.eye(8))
"""


def num_threads(num_devices: int) -> int:
    return max(2 * num_devices, len(os.sched_getaffinity(0)))


def test_threads_of_the_client_are_set_at_import():
    assert f"threads: {num_threads(8)}\n" in run_python(IMPORT + PRINT, XLA_FLAGS=EIGHT)
    configured = "import jax; jax.config.update('jax_num_cpu_devices', 6); "
    assert f"threads: {num_threads(6)}\n" in run_python(configured + IMPORT + PRINT)
    assert "threads: None\n" in run_python(IMPORT + PRINT)
    assert "threads: 5\n" in run_python(IMPORT + PRINT, XLA_FLAGS=EIGHT, PJRT_NPROC="5")


def test_too_few_threads_are_warned_of():
    text = run_python(IMPORT + CALL, XLA_FLAGS=EIGHT, PJRT_NPROC="15")
    assert "15 threads for 8 devices" in text and "PJRT_NPROC=16" in text
    assert "RuntimeWarning" not in run_python(IMPORT + CALL, XLA_FLAGS=EIGHT)
    late = "import jax; jax.devices(); " + IMPORT + CALL + PRINT
    text = run_python(late, XLA_FLAGS=EIGHT)
    assert "threads: None\n" in text
    assert ("RuntimeWarning" in text) == (len(os.sched_getaffinity(0)) < 16)


def test_executables_that_another_process_has_cached_run(tmp_path):
    count = """
from jax._src import monitoring
events = []
monitoring.register_event_listener(lambda event, **_: events.append(event.split("/")[-1]))
"""
    cached = {
        "XLA_FLAGS": EIGHT,
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    code = IMPORT + count + CALL + "print('compiled:', events.count('cache_misses'))"
    assert "compiled: 0\n" not in run_python(code, **cached)
    assert "compiled: 0\n" in run_python(code, **cached)


OF_TWO_PROCESSES = """
import sys, numpy as np
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]), initialization_timeout=60)
from jax.sharding import Mesh, PartitionSpec as P
whole, own = Mesh(np.array(jax.devices()), ("tp",)), Mesh(np.array(jax.local_devices()), ("tp",))
x = np.eye(8, dtype="float32")
for call in (
    lambda: cm.all_gather_matmul(x, x, whole, "tp"),
    lambda: jax.jit(jax.shard_map(
        lambda x, y: cm.all_gather_matmul_local(x, y, "tp"),
        mesh=own, in_specs=(P("tp", None), P(None, "tp")), out_specs=P(None, "tp"),
    ))(x, x),
):
    try:
        call()
    except cm._cpu.UnsupportedError as error:
        assert "of 2 processes" in str(error) and "jax.local_devices()" in str(error)
        print("refused")
assert np.array_equal(cm.all_gather_matmul(x, x, own, "tp"), x)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
out = jax.jit(lambda x: cm.all_gather_matmul(x, x, whole, "tp", algorithm="sequential"))(x)
assert out.shape == (8, 8)
jax.distributed.shutdown()
"""


def test_devices_of_several_processes_are_refused_and_those_of_one_of_them_work():
    with socket.socket() as any_socket:
        any_socket.bind(("localhost", 0))
        address = f"localhost:{any_socket.getsockname()[1]}"
    with concurrent.futures.ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(
                run_python, IMPORT + OF_TWO_PROCESSES, address, str(rank),
                XLA_FLAGS="--xla_force_host_platform_device_count=2",
            )
            for rank in range(2)
        ]
        for run in runs:
            assert run.result().count("refused") == 2


SERIALIZE = """
import pickle, sys
from jax.experimental import serialize_executable
call = jax.jit(lambda x, y: cm.all_gather_matmul(x, y, mesh, "tp"))
place = lambda spec: jax.device_put(
    np.eye(8, dtype="float32"), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec)))
x, y = place(("tp", None)), place((None, "tp"))
"""
STORE = """
with open(sys.argv[1], "wb") as file:
    pickle.dump(serialize_executable.serialize(call.lower(x, y).compile()), file)
"""
LOAD = """
with open(sys.argv[1], "rb") as file:
    loaded = serialize_executable.deserialize_and_load(*pickle.load(file))
assert np.array_equal(loaded(x, y), np.eye(8))
"""


def test_an_executable_of_another_process_runs_before_anything_is_lowered(tmp_path):
    start = IMPORT + CALL.split("out =")[0] + SERIALIZE
    run_python(start + STORE, str(tmp_path / "executable"), XLA_FLAGS=EIGHT)
    run_python(start + LOAD, str(tmp_path / "executable"), XLA_FLAGS=EIGHT)


def test_an_import_makes_no_devices_and_is_quick():
    code = """
import time, jax
begin = time.process_time()
import collective_matmul.jax
print("seconds:", time.process_time() - begin)
from jax._src import xla_bridge
print("backends:", xla_bridge.backends_are_initialized())
"""
    text = run_python(code, XLA_FLAGS=EIGHT)
    assert "backends: False\n" in text
    assert float(text.split("seconds: ")[1].split()[0]) < 2

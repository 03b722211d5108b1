"""collective_matmul.numpy: ranks as threads and processes, what goes wrong, what is held."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

import collective_matmul.numpy as cmm
from collective_matmul import (
    DeadlineError,
    InvalidArgumentError,
    MeshDeadError,
    OutOfMemoryError,
    PeerFailedError,
)

M, K, N = 8, 16, 12
X = np.arange(M * K, dtype=np.float32).reshape(M, K) % 7
Y = np.arange(K * N, dtype=np.float32).reshape(K, N) % 5


def my_part(mesh, extent):
    part = extent // mesh.num_ranks
    return slice(mesh.rank * part, (mesh.rank + 1) * part)


def test_ranks_that_keep_weights_and_plan():
    def body(mesh):
        tp = mesh.axis()
        weights = cmm.Weights.pack(Y[:, my_part(mesh, N)])
        call = cmm.plan(tp, m=M, k=K, n_local=weights.n)
        assert (call.m, call.rows_of(tp.rank), call.algorithm) == (M, M // 4, "direct")
        x_local, out = X[my_part(mesh, M)].copy(), np.empty((M, weights.n), np.float32)
        for i in range(10):
            assert call(x_local * i, weights, out) is out
            assert np.array_equal(out, i * X @ Y[:, my_part(mesh, N)])
        assert np.array_equal(call.all_gather(x_local), X)
        # Fewer rows than the plan has: 2 on each rank become 1.
        gathered = np.empty((4, K), np.float32)
        fewer = call(x_local[:1], weights, m=4, gathered=gathered)
        assert np.array_equal(gathered, X[::2])
        assert np.array_equal(fewer, gathered @ Y[:, my_part(mesh, N)])
        return tp.exchange(bytes([mesh.rank]))

    assert cmm.run_ranks(4, body) == [[b"\0", b"\1", b"\2", b"\3"]] * 4


def test_axes_of_a_grid():
    def body(mesh):
        assert mesh.axes == {"dp": 2, "tp": 3}
        with pytest.raises(InvalidArgumentError, match="name one of them"):
            mesh.axis()
        dp, tp = mesh.axis("dp"), mesh.axis("tp")
        tp.barrier()
        assert mesh.rank == dp.rank * tp.num_ranks + tp.rank
        assert (tp.name, tp.transport) == ("tp", "threads") and "barrier" in tp.history()
        return repr(mesh)

    assert cmm.run_ranks({"dp": 2, "tp": 3}, body)[4] == "<Mesh {'dp': 2, 'tp': 3}: rank 4 of 6>"


def test_explanations():
    def body(mesh):
        call = cmm.plan(mesh.axis(), m=512, k=K, n_local=N, algorithm="ring")
        return call.explain(), call.picture(), repr(call)

    explanation, picture, text = cmm.run_ranks(2, body)[0]
    assert explanation.algorithm == "ring" and explanation.transport == "threads"
    assert explanation.received_bytes == 256 * K * 4
    assert explanation.expected_seconds >= explanation.multiply_seconds > 0
    assert "algorithm    ring" in str(explanation) and "rank 1" in picture
    assert text.startswith("<Plan m=512 k=16 n_local=[12] float32 -> float32, ring, <Axis 'tp'")


def test_ranks_that_disagree_all_learn_of_it():
    told = []

    def body(mesh):
        with pytest.raises(InvalidArgumentError, match="k") as caught:
            cmm.plan(mesh.axis(), m=M, k=K + mesh.rank, n_local=N)
        told.append(str(caught.value))
        mesh.axis().barrier()  # the mesh stays usable

    cmm.run_ranks(3, body)
    assert len(told) == 3 and len(set(told)) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"m": 10**30}, {"n_local": 2.5}, {"dtype": "int8"}, {"algorithm": "star"}, {"pieces": -1}]
    + [{"deadline_seconds": 0}, {"activation": "tanh"}, {"algorithm": "\ud800"}, {"depth": 3}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_is_wrong_with_a_plan_on_one_rank_is_told_to_all(wrong):
    told = []

    def body(mesh):
        given = {"m": M, "k": K, "n_local": N} | (wrong if mesh.rank == 1 else {})
        with pytest.raises(InvalidArgumentError) as caught:
            cmm.plan(mesh.axis(), **given)
        told.append(str(caught.value))
        mesh.axis().barrier()  # the mesh stays usable

    begin = time.monotonic()
    cmm.run_ranks(3, body)
    assert time.monotonic() - begin < 30  # and not after the deadline of 60 s
    assert len(told) == 3 and len(set(told)) == 1
    assert told[0].startswith("rank 1 of axis 'tp': ")


@pytest.mark.parametrize(
    "args, given, message",
    [
        ((), {"m": M, "k": K}, "missing 1 required keyword-only argument: 'n_local'"),
        ((M,), {"k": K, "n_local": N}, "takes 1 positional argument but 2"),
        ((M,), {"k": 10**30, "n_local": N}, "k is 10"),
    ],
    ids=["missing", "by position", "wrong, too"],
)
def test_a_call_of_plan_that_fits_no_signature_is_told_to_all(args, given, message):
    told = []

    def body(mesh):
        with pytest.raises(InvalidArgumentError, match=message) as caught:
            if mesh.rank == 1:
                cmm.plan(mesh.axis(), *args, **given)
            else:
                cmm.plan(mesh.axis(), m=M, k=K, n_local=N)
        told.append(str(caught.value))
        mesh.axis().barrier()

    begin = time.monotonic()
    cmm.run_ranks(2, body)
    assert time.monotonic() - begin < 30  # and not after the deadline of 60 s
    assert told[0] == told[1] and told[0].startswith("rank 1 of axis 'tp': ")


@pytest.mark.parametrize(
    "wrong",
    [{"k": 2.5}, {"dtype": "int8"}, {"algorithm": "star"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_is_wrong_with_a_plan_is_said_though_peers_do_not_come(wrong):
    others_wait = threading.Event()

    def body(mesh):
        if mesh.rank == 1:
            assert others_wait.wait(50)
            return
        begin = time.monotonic()
        given = {"m": M, "k": K, "n_local": N, "deadline_seconds": 0.5} | wrong
        with pytest.raises(InvalidArgumentError, match=str(next(iter(wrong.values())))) as caught:
            cmm.plan(mesh.axis(), **given)
        assert time.monotonic() - begin < 30  # and not after the default of 60 s
        cause = caught.value.__cause__
        assert isinstance(cause, DeadlineError) and cause.rank == 1
        others_wait.set()

    cmm.run_ranks(2, body)


def test_a_rank_that_raises_takes_its_peers_along():
    seen = {}

    def body(mesh):
        call = cmm.plan(mesh.axis(), m=M, k=K, n_local=N)
        if mesh.rank == 1:
            raise KeyError("lost")
        try:
            call(X[:4], cmm.Weights.pack(Y))
        except PeerFailedError as error:
            seen[mesh.rank] = error
            with pytest.raises(MeshDeadError, match="lost"):
                call(X[:4], cmm.Weights.pack(Y))
            raise

    begin = time.monotonic()
    with pytest.raises(KeyError, match="lost"):
        cmm.run_ranks(2, body)
    assert time.monotonic() - begin < 30  # and not after the deadline of 60 s
    assert "KeyError: 'lost'" in str(seen[0]) and seen[0].rank == 1


@pytest.mark.parametrize("wrong", [X[:4].astype(np.float64), X[:4, ::2], X[:3], X[:4, :5], None])
def test_a_wrong_argument_of_a_call_ends_the_mesh(wrong):
    later = []

    def body(mesh):
        call, weights = cmm.plan(mesh.axis(), m=M, k=K, n_local=N), cmm.Weights.pack(Y)
        try:
            call(wrong if mesh.rank == 0 else X[4:], weights)
        finally:
            with pytest.raises(MeshDeadError, match="x"):
                call(X[:4], weights)
            later.append(mesh.rank)

    begin = time.monotonic()
    with pytest.raises(InvalidArgumentError, match="x"):
        cmm.run_ranks(2, body)
    assert time.monotonic() - begin < 30 and sorted(later) == [0, 1]


@pytest.mark.parametrize("arguments, given", [((), {}), ((X[:4],), {"depth": 3})])
@pytest.mark.parametrize("kind", ["product", "gather"])
def test_a_call_that_fits_no_signature_ends_the_mesh(kind, arguments, given):
    told = []

    def body(mesh):
        call, weights = cmm.plan(mesh.axis(), m=M, k=K, n_local=N), cmm.Weights.pack(Y)
        function = call if kind == "product" else call.all_gather
        if mesh.rank == 0:
            with pytest.raises(TypeError, match="argument"):
                function(*arguments, **given)
        else:
            with pytest.raises(PeerFailedError, match="argument"):
                function(X[4:], *([weights] if kind == "product" else []))
        told.append(mesh.rank)

    begin = time.monotonic()
    cmm.run_ranks(2, body)
    assert time.monotonic() - begin < 30 and sorted(told) == [0, 1]


def test_a_rank_that_raises_ends_calls_that_do_not_wait_for_it():
    """Rank 1 waits for rank 0 in a call, and rank 0 in Python for rank 1."""
    rank_1_has_ended = threading.Event()
    axes = {}

    def body(mesh):
        call = cmm.plan(mesh.axis(), m=9, k=K, n_local=N, algorithm="ring")
        axes[mesh.rank] = mesh.axis()
        if mesh.rank == 2:
            while 1 not in axes or "waits for rank 0" not in axes[1].history():
                time.sleep(0.001)
            raise KeyError("lost")
        if mesh.rank == 0:
            assert rank_1_has_ended.wait(50)
        try:
            call(X[:3], cmm.Weights.pack(Y))
        finally:
            rank_1_has_ended.set()

    begin = time.monotonic()
    with pytest.raises(KeyError, match="lost"):
        cmm.run_ranks(3, body)
    assert time.monotonic() - begin < 30  # and not after the deadline of 60 s


def test_a_rank_that_returns_early_is_named():
    def body(mesh):
        if mesh.rank == 0:
            mesh.axis().barrier()

    with pytest.raises(PeerFailedError, match="rank 1 has left the mesh: its body returned"):
        cmm.run_ranks(2, body)


def test_a_deadline_names_the_late_rank():
    release = threading.Event()

    def body(mesh):
        call = cmm.plan(mesh.axis(), m=M, k=K, n_local=N, deadline_seconds=1)
        if mesh.rank == 1:
            release.wait(30)
        try:
            call(X[:4], cmm.Weights.pack(Y))
        finally:
            release.set()

    with pytest.raises(DeadlineError, match="rank 1") as caught:
        cmm.run_ranks(2, body)
    assert caught.value.rank == 1


def test_calls_release_the_gil():
    """While one rank waits in a call, Python runs on in the others. (That calls overlap, each
    product of this file shows: none could end otherwise.)"""
    axes = {}
    steps = []

    def body(mesh):
        axes[mesh.rank] = mesh.axis()
        if mesh.rank == 1:
            while 0 not in axes or "waits for rank 1" not in axes[0].history():
                time.sleep(0.001)
            for step in range(1000):
                steps.append(step)
                time.sleep(0)
        mesh.axis().barrier()

    cmm.run_ranks(2, body)
    assert len(steps) == 1000


def test_ctrl_c_ends_waiting_ranks():
    program = """
        import os, signal, threading, time
        import collective_matmul.numpy as cmm

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job may ignore it
        axes = {}
        ended = threading.Event()

        def body(mesh):
            axes[mesh.rank] = mesh.axis()
            if mesh.rank == 0:
                while not any("waits for rank 0" in it.history() for it in [*axes.values()]):
                    time.sleep(0.01)
                # Not with print: a daemon thread may not hold stdout's lock when Python ends.
                os.write(1, b"waiting\\n")
                ended.wait(60)
            else:
                try:
                    mesh.axis().barrier()
                finally:
                    ended.set()

        try:
            cmm.run_ranks(3, body)
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "waiting\n"
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output == "interrupted\n" and process.returncode == 0
    assert time.monotonic() - begin < 20  # and not after the deadline of 60 s


def test_arrays_are_not_held_and_memory_stays():
    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    x, y = np.ones((64, 256), np.float32), np.ones((256, 256), np.float32)
    counts = sys.getrefcount(x), sys.getrefcount(y)
    out = weakref.ref(cmm.all_gather_matmul(x, y, ranks=2))
    gc.collect()
    assert out() is None and (sys.getrefcount(x), sys.getrefcount(y)) == counts

    def body(mesh):
        call = cmm.plan(mesh.axis(), m=64, k=256, n_local=256)
        weights = cmm.Weights.pack(y)
        for i in range(1100):
            if i == 100:
                before = rss()
            call(x[my_part(mesh, 64)], weights)
        return rss() - before

    for _ in range(20):
        cmm.all_gather_matmul(x, y, ranks=2)
    assert max(cmm.run_ranks(2, body)) < 4 << 20  # an out of each call would be 66 MB

    before = rss()
    for _ in range(300):
        with pytest.raises(InvalidArgumentError):
            cmm.all_gather_matmul(x, y[:-1], ranks=2)
        cmm.all_gather_matmul(x, y, ranks=2)
    assert rss() - before < 16 << 20  # packed weights of each call would be 157 MB


def test_memory_that_peers_read_in_place_outlives_its_mesh():
    array = cmm.Mesh.threads(2)[0].empty((3, 5), np.float16)
    gc.collect()
    array[:] = 7
    assert array.shape == (3, 5) and array.ctypes.data % 64 == 0 and (array == 7).all()
    assert cmm.Mesh.threads(1)[0].empty((0, 5)).size == 0
    with pytest.raises(InvalidArgumentError, match="dtype is"):
        cmm.Mesh.threads(1)[0].empty((3, 5), np.int32)
    with pytest.raises(InvalidArgumentError, match=r"shape is \[-3, 5\]"):
        cmm.Mesh.threads(1)[0].empty((-3, 5))
    with pytest.raises(OutOfMemoryError, match=r"shape is \[1099511627776, 1099511627776\]"):
        cmm.Mesh.threads(1)[0].empty((2**40, 2**40))


PROCESS = """
    import sys
    import numpy as np
    import collective_matmul.numpy as cmm

    mesh = MESH
    tp = mesh.axis()
    assert tp.transport == "shared memory", tp
    x = mesh.empty((2, 8), np.float32)
    x[:] = mesh.rank + 1
    y = np.arange(32, dtype=np.float32).reshape(8, 4)
    call = cmm.plan(tp, m=2 * mesh.num_ranks, k=8, n_local=4)
    weights = cmm.Weights.pack(y)
    out = call(x, weights)
    assert np.array_equal(out, np.repeat(np.arange(mesh.num_ranks) + 1, 2)[:, None] * y.sum(0))
    if mesh.rank == 1 and "die" in sys.argv:
        sys.exit(9)
    call(x, weights)
"""


def start(mesh, *arguments, **variables):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROCESS).replace("MESH", mesh), *arguments],
        env={**os.environ, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ranks_as_processes(tmp_path):
    mesh = "cmm.Mesh.processes(2, socket=sys.argv[1], rank=int(sys.argv[2]), num_ranks=2)"
    processes = [start(mesh, str(tmp_path / "socket"), str(rank)) for rank in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert not list(tmp_path.iterdir())


def test_a_process_that_ends_is_named_to_the_others(tmp_path):
    mesh = "cmm.Mesh.from_environment({'tp': 3})"
    processes = [
        start(mesh, "die", CMM_SOCKET=str(tmp_path / "s"), CMM_RANK=str(r), CMM_NUM_RANKS="3")
        for r in range(3)
    ]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, 9, 1], errors
    assert "PeerFailedError" in errors[0] and "rank 1" in errors[0].splitlines()[-1]


def test_ranks_under_the_launcher():
    tool = os.environ.get("CMM_TOOL", "")
    if not os.access(tool, os.X_OK):
        pytest.skip("the tool cmm is not built")
    program = textwrap.dedent(PROCESS).replace("MESH", "cmm.Mesh.from_environment(2)")
    subprocess.run([tool, "launch", "-n", "2", "--", sys.executable, "-c", program], check=True)


ENDS_DURING_CALLS = """
import threading, time
import numpy as np
import collective_matmul.numpy as cmm

begun = threading.Barrier(3)

def body(mesh):
    x, y = np.ones((256, 512), np.float32), np.ones((512, 512), np.float32)
    weights, call = cmm.Weights.pack(y), cmm.plan(mesh.axis(), m=512, k=512, n_local=512)
    begun.wait()
    while True:
        call(x, weights)

for mesh in cmm.Mesh.threads(2):
    threading.Thread(target=body, args=(mesh,), daemon=True).start()
begun.wait()
time.sleep(0.1)
"""


def test_a_program_may_end_while_its_daemons_are_in_calls():
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_DURING_CALLS], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")

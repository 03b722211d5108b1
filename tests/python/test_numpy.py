"""collective_matmul.numpy: results, against float64 and the tool, and arrays that are refused."""

import gc
import os
import subprocess

import numpy as np
import pytest
from ml_dtypes import bfloat16

import collective_matmul.numpy as cmm
from collective_matmul import InvalidArgumentError

DTYPES = [np.float32, np.float16, bfloat16]
RANKS = [1, 2, 3, 4]


def integers(rows, cols, dtype, seed=0):
    """Small whole numbers: all sums over k are exact in every type, so bits must match."""
    return np.random.default_rng(seed).integers(-4, 5, (rows, cols)).astype(dtype)


def product(x, y):
    return np.asarray(x, np.float64) @ np.asarray(y, np.float64)


def same(out, exact):
    """Every bit is that of the exact result, rounded once."""
    return np.array_equal(np.asarray(out), exact.astype(np.float32).astype(out.dtype))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, k, n", [(37, 50, 23), (1, 7, 1), (2, 1, 5), (64, 300, 96)])
def test_a_whole_product(m, k, n, dtype, ranks):
    x, y = integers(m, k, dtype), integers(k, n, dtype, 1)
    out = cmm.all_gather_matmul(x, y, ranks=ranks, out_dtype=np.float32)
    assert out.dtype == np.float32 and out.shape == (m, n)
    assert same(out, product(x, y))
    assert same(cmm.all_gather_matmul(x, y, ranks=ranks), product(x, y))


@pytest.mark.parametrize("m, k, n", [(0, 4, 5), (4, 0, 5), (4, 5, 0), (0, 0, 0)])
def test_an_extent_of_zero(m, k, n):
    out = cmm.all_gather_matmul(
        np.ones((m, k), np.float32), np.ones((k, n), np.float32), ranks=2
    )
    assert out.shape == (m, n) and (out == k).all()


@pytest.mark.parametrize("transposed", [False, True])
def test_y_may_have_any_strides(transposed):
    x = integers(9, 20, np.float32)
    wide = integers(60, 90, np.float32, 1)
    for y in (wide[::3, ::7], wide[19::-1, 12::-1], np.broadcast_to(wide[:20, :1], (20, 13)),
              wide.T[10:30, 1:14]):
        given = y.T if transposed else y
        out = cmm.all_gather_matmul(x, given, ranks=3, transposed=transposed)
        assert same(out, product(x, y))


def test_rows_of_x_and_out_may_have_any_distance():
    x = integers(40, 30, np.float32)[::4, 5:25]  # [10, 20]
    y = integers(20, 6, np.float32, 1)
    assert same(cmm.all_gather_matmul(x, y, ranks=2), product(x, y))

    canvas = np.full((20, 12), -1, np.float32)
    out = canvas[::2, 3:9]

    def body(mesh):
        call = cmm.plan(mesh.axis(), m=10, k=20, n_local=6)
        return call(x, cmm.Weights.pack(y), out)

    assert cmm.run_ranks(1, body)[0] is out
    assert same(out, product(x, y))
    out[:] = -1
    assert (canvas == -1).all()  # nothing was written beside it


def test_ragged_ranks_that_bring_their_own_rows_and_columns():
    x = [integers(rows, 17, bfloat16, rows) for rows in (5, 0, 1)]
    y = [integers(17, cols, bfloat16, cols) for cols in (3, 8, 0)]
    whole = np.concatenate(x)
    outs, gathered = cmm.all_gather_matmul(x, y, return_gathered=True)
    for out, each, y_local in zip(outs, gathered, y):
        assert same(out, product(whole, y_local))
        assert np.array_equal(each, whole)


def test_several_right_sides_bias_and_activations():
    x, y = integers(6, 10, np.float32), integers(10, 8, np.float32, 1)
    z, b = integers(10, 5, np.float32, 2), np.arange(5)
    (first, second), gathered = cmm.all_gather_matmul(
        x, (y, z), ranks=2, bias=(None, b), activation=("none", "relu"), return_gathered=True
    )
    assert same(first, product(x, y))
    assert same(second, np.maximum(product(x, z) + b, 0))
    assert np.array_equal(gathered, x)


def test_swiglu():
    x, gate, up = (integers(6, 10, np.float32, seed)[:, :8] for seed in range(3))
    out = cmm.all_gather_matmul(x, (gate.T, up.T), ranks=3, swiglu=True)
    g, u = product(x, gate.T), product(x, up.T)
    np.testing.assert_allclose(out, g / (1 + np.exp(-g)) * u, rtol=1e-6)


@pytest.mark.parametrize(
    "name, function",
    [
        ("silu", lambda v: v / (1 + np.exp(-v))),
        ("gelu_tanh", lambda v: v / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (v + 0.044715 * v**3)))),
    ],
)
def test_activations(name, function):
    x, y = integers(5, 9, np.float32) / 8, integers(9, 4, np.float32, 1) / 8
    out = cmm.all_gather_matmul(x, y, ranks=2, activation=name)
    np.testing.assert_allclose(out, function(product(x, y)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("algorithm", ["direct", "ring", "bidirectional", "recursive_doubling"])
def test_every_algorithm_gives_the_same_bits(algorithm):
    x = np.random.default_rng(0).standard_normal((21, 64)).astype(np.float32)
    y = np.random.default_rng(1).standard_normal((64, 12)).astype(np.float32)
    one = cmm.all_gather_matmul(x, y, ranks=1)
    for threads in (1, 2):
        four = cmm.all_gather_matmul(x, y, ranks=4, algorithm=algorithm, threads=threads)
        assert np.array_equal(one, four)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_every_bit_is_that_of_the_tool(tmp_path, dtype, transposed):
    tool = os.environ.get("CMM_TOOL", "")
    if not os.access(tool, os.X_OK):
        pytest.skip("the tool cmm is not built")
    x = np.random.default_rng(0).standard_normal((33, 70)).astype(dtype)
    y = np.random.default_rng(1).standard_normal((70, 45)).astype(dtype)
    y = np.ascontiguousarray(y.T) if transposed else y
    for name, array in (("x", x), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    command = [tool, "multiply", "x.npy", "y.npy", "-o", "out.npy", "--ranks", "2"]
    subprocess.run(
        command + ["--transpose-y"] * transposed, check=True, cwd=tmp_path, capture_output=True
    )
    bits = np.uint32 if dtype == np.float32 else np.uint16
    expected = np.load(tmp_path / "out.npy").view(bits)
    out = cmm.all_gather_matmul(x, y, ranks=3, transposed=transposed)
    assert np.array_equal(out.view(bits), expected)


X = np.ones((4, 6), np.float32)
Y = np.ones((6, 8), np.float32)


@pytest.mark.parametrize(
    "x, y, options, message",
    [
        (X.astype(np.float64), Y, {}, "x holds float64; it must hold"),
        (X.astype(">f4"), Y, {}, "x holds >f4; .*byte order"),
        (X, Y.astype(np.int8), {}, "y holds int8; it must hold"),
        (X[0], Y, {}, r"x has the shape \(6,\); it must have two dimensions"),
        (X, Y[None], {}, r"y has the shape \(1, 6, 8\)"),
        (X.T.copy().T, Y, {}, "strides of 4 and 16 bytes"),
        (X[:, ::2], Y[:3], {}, "side by side"),
        (X[::-1], Y, {}, "one after"),
        (np.broadcast_to(X[0], (4, 6)), Y, {}, "one after"),
        (X, Y[:5], {}, "5"),
        (X, Y.astype(bfloat16), {}, "bf16"),
        (X, (), {}, "y is empty"),
        (X, [Y, Y], {}, "y is list; it must be a numpy.ndarray"),
        (X, Y, {"ranks": None}, "must be the number of ranks"),
        (X, Y, {"ranks": 2**40}, "ranks is 1099511627776; .* from 1 to 4096"),
        (X, Y, {"ranks": "2"}, "ranks is '2'"),
        (X, Y, {"bias": np.ones(8) * 1j}, "bias holds complex128"),
        (X, Y, {"ranks": 0}, "must be the number of ranks"),
        (X, Y, {"bias": np.ones(7)}, r"bias has the shape \(7,\); it must be \(8,\)"),
        (X, Y, {"bias": np.ones(9)}, r"bias has the shape \(9,\)"),
        (X, Y, {"bias": 1.0}, r"bias has the shape"),
        (X, Y, {"bias": [[1], [2, 3]]}, r"bias is \[\[1\], \[2, 3\]\]; it must be a list of"),
        ([X], [cmm.Weights.pack(Y)], {"ranks": None, "bias": [np.ones(8)]}, "of their own"),
        (X, (Y, Y), {"bias": np.ones(8)}, "bias must be a tuple"),
        (X, Y, {"activation": "gelu"}, "gelu"),
        (X, Y, {"swiglu": True}, "right side"),
        (X, Y, {"algorithm": "star"}, "star"),
        (X, Y, {"out_dtype": np.int32}, "out_dtype is"),
        (X, Y, {"deadline_seconds": 0}, "above 0"),
        ([X, X], Y, {"ranks": None}, "y must be a list"),
        ([X, X], [Y], {"ranks": None}, "y must be a list"),
        ([X, X], [Y, Y], {"ranks": 3}, "ranks is 3"),
        ([X, X[:, :5]], [Y, Y], {"ranks": None}, "5"),
        ([], [], {"ranks": None}, "x is empty"),
        (X.tolist(), Y, {}, "y must be a list"),
    ],
)
def test_what_cannot_be_right_is_refused(x, y, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        cmm.all_gather_matmul(x, y, **{"ranks": 2, **options})


def test_misaligned_elements_are_refused():
    raw = np.zeros(4 * 6 * 4 + 2, np.uint8)
    x = raw[2:].view(np.float32).reshape(4, 6)
    with pytest.raises(InvalidArgumentError, match="multiples of 4 bytes"):
        cmm.all_gather_matmul(x, Y, ranks=2)


def test_results_are_not_written_to_what_is_read_only():
    def body(mesh):
        out = np.zeros((4, 8), np.float32)
        out.flags.writeable = False
        cmm.plan(mesh.axis(), m=4, k=6, n_local=8)(X, cmm.Weights.pack(Y), out)

    with pytest.raises(InvalidArgumentError, match="out is read-only"):
        cmm.run_ranks(1, body)


def test_results_must_not_overlap_each_other():
    canvas = np.zeros((4, 16), np.float32)

    def body(mesh, right, out, **options):
        call = cmm.plan(mesh.axis(), m=4, k=6, n_local=[8] * right)
        return call(X, [cmm.Weights.pack(Y)] * right, out, **options)

    left, beside = cmm.run_ranks(1, lambda mesh: body(mesh, 2, [canvas[:, :8], canvas[:, 8:]]))[0]
    assert same(left, product(X, Y)) and same(beside, product(X, Y))
    for out, options in (
        ([canvas[:, :8], canvas[:, 7:15]], {}),
        ([canvas[:, :8]], {"gathered": canvas[:, 7:13]}),
    ):
        with pytest.raises(InvalidArgumentError, match=r"results \[4, 8\] and .* share memory"):
            cmm.run_ranks(1, lambda mesh: body(mesh, len(out), out, **options))


def test_results_must_not_overlap_x():
    canvas = np.zeros((4, 20), np.float32)
    x, beside = canvas[:, :6], canvas[:, 6:14]
    x[:] = X

    def body(mesh, out, **options):
        return cmm.plan(mesh.axis(), m=4, k=6, n_local=8)(x, cmm.Weights.pack(Y), out, **options)

    assert same(cmm.run_ranks(1, lambda mesh: body(mesh, beside))[0], product(X, Y))
    for out, options in ((canvas[:, 5:13], {}), (beside, {"gathered": canvas[:, 5:11]})):
        with pytest.raises(InvalidArgumentError, match="shares memory with x_local"):
            cmm.run_ranks(1, lambda mesh: body(mesh, out, **options))
    assert (x == X).all()


def test_right_sides_and_results_of_a_wrong_kind_are_named():
    def body(mesh, y, out=None):
        return cmm.plan(mesh.axis(), m=4, k=6, n_local=8)(X, y, out)

    right = "collective_matmul.numpy.Weights, or a tuple"
    with pytest.raises(InvalidArgumentError, match=f"y is ndarray; it must be {right}"):
        cmm.run_ranks(1, lambda mesh: body(mesh, Y))
    with pytest.raises(InvalidArgumentError, match="out is str; it must be numpy.ndarray, or a"):
        cmm.run_ranks(1, lambda mesh: body(mesh, cmm.Weights.pack(Y), "out"))


@pytest.mark.parametrize(
    "m, message",
    [(2.5, "m is 2.5; it must be None or an integer"), (5, "m=5"), (3, "but out has 4 ")],
)
def test_an_m_that_is_none_of_out_is_refused(m, message):
    def body(mesh, m):
        call, out = cmm.plan(mesh.axis(), m=4, k=6, n_local=8), np.empty((4, 8), np.float32)
        return call(X, cmm.Weights.pack(Y), out, m=m)

    assert same(cmm.run_ranks(1, lambda mesh: body(mesh, np.int64(4)))[0], product(X, Y))
    with pytest.raises(InvalidArgumentError, match=message):
        cmm.run_ranks(1, lambda mesh: body(mesh, m))


def test_weights():
    weights = cmm.Weights.pack(Y.astype(bfloat16), bias=np.arange(8))
    assert (weights.k, weights.n, weights.dtype, weights.engine) == (6, 8, bfloat16, "own")
    assert weights.bytes >= 6 * 8 * 2
    assert repr(weights) == "<Weights [6, 8] bfloat16, engine 'own'>"
    with pytest.raises(InvalidArgumentError, match=r"bias has the shape \(7,\); it must be \(8,\)"):
        cmm.Weights.pack(Y, bias=np.ones(7))
    with pytest.raises(InvalidArgumentError, match="own"):
        cmm.Weights.pack(Y, engine="blas")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_view_gives_the_bits_of_packed_weights(dtype, transposed):
    x = np.random.default_rng(0).standard_normal((9, 70)).astype(dtype)
    y = np.random.default_rng(1).standard_normal((45, 70) if transposed else (70, 45))
    bias = np.arange(90, dtype=np.float16)[::2]

    def body(mesh):
        call = cmm.plan(mesh.axis(), m=9, k=70, n_local=45, dtype=dtype)
        ours = y.astype(dtype)
        packed = cmm.Weights.pack(ours, transposed=transposed, bias=bias)
        view = cmm.Weights.view(ours, transposed=transposed, bias=bias)
        assert view.bytes == 0 and (view.k, view.n, view.dtype) == (70, 45, dtype)
        expected = call(x, packed).tobytes()
        del ours  # the view keeps it
        gc.collect()
        assert call(x, view).tobytes() == expected

    cmm.run_ranks(1, body)
    with pytest.raises(InvalidArgumentError, match="bias has the shape"):
        cmm.Weights.view(y.astype(dtype), transposed=transposed, bias=np.ones(3))

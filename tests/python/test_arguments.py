"""Absurd arguments of every public function but those of PyTorch: an error of ours names them."""

import inspect
import itertools
import typing

import numpy as np
import pytest

import collective_matmul
import collective_matmul.numpy as cmm
from collective_matmul import InvalidArgumentError, tpu
from collective_matmul._arguments import Arguments, Int32, UInt64, checked


def on_one_rank(method):
    """A method of what one rank has, by the name of its class."""

    def call(**arguments):
        [mesh] = cmm.Mesh.threads(1)
        return method(mesh)(**arguments)

    return call


ROWS = np.ones((4, 8), np.float32)
PLAN = {"m": 4, "k": 8, "n_local": 4}
SHAPE = {"m": 64, "k": 128, "n": 512}

# Each as it is told apart, with arguments that are right.
CALLS = {
    "numpy.all_gather_matmul": (
        cmm.all_gather_matmul, cmm.all_gather_matmul, {"x": ROWS, "y": ROWS.T, "ranks": 2}
    ),
    "numpy.run_ranks": (cmm.run_ranks, cmm.run_ranks, {"ranks": 1, "body": lambda mesh: None}),
    "numpy.plan": (
        cmm.plan, on_one_rank(lambda mesh: lambda **given: cmm.plan(mesh.axis(), **given)), PLAN
    ),
    "numpy.simulate": (cmm.simulate, cmm.simulate, {**SHAPE, "ranks": 4}),
    "Weights.pack": (cmm.Weights.pack, cmm.Weights.pack, {"y": ROWS}),
    "Weights.view": (cmm.Weights.view, cmm.Weights.view, {"y": ROWS}),
    "Mesh.threads": (cmm.Mesh.threads, cmm.Mesh.threads, {"axes": {"tp": 1}}),
    "Mesh.processes": (
        cmm.Mesh.processes,
        cmm.Mesh.processes,
        {"axes": 1, "socket": "@collective-matmul-test", "rank": 0, "num_ranks": 1},
    ),
    "Mesh.from_environment": (cmm.Mesh.from_environment, cmm.Mesh.from_environment, {"axes": 1}),
    "Mesh.axis": (cmm.Mesh.axis, on_one_rank(lambda mesh: mesh.axis), {"name": "tp"}),
    "Mesh.empty": (cmm.Mesh.empty, on_one_rank(lambda mesh: mesh.empty), {"shape": (2, 2)}),
    "Mesh.abort": (cmm.Mesh.abort, on_one_rank(lambda mesh: mesh.abort), {"reason": "of a test"}),
    "Axis.exchange": (
        cmm.Axis.exchange, on_one_rank(lambda mesh: mesh.axis().exchange), {"data": b""}
    ),
    "Axis.barrier": (cmm.Axis.barrier, on_one_rank(lambda mesh: mesh.axis().barrier), {}),
    "Plan.rows_of": (
        cmm.Plan.rows_of,
        on_one_rank(lambda mesh: cmm.plan(mesh.axis(), **PLAN).rows_of),
        {"rank": 0},
    ),
    "Plan": (
        cmm.Plan.__call__,
        on_one_rank(lambda mesh: cmm.plan(mesh.axis(), **PLAN)),
        {"x_local": ROWS, "y": cmm.Weights.pack(np.ones((8, 4), np.float32)), "m": 4},
    ),
    "tpu.simulate": (tpu.simulate, tpu.simulate, {**SHAPE, "devices": 2}),
    "tpu.verify": (
        tpu.verify, tpu.verify, {**SHAPE, "m": 32, "devices": 2, "num_interleavings": 1}
    ),
}


def add_those_of_jax():
    try:
        import jax
    except ImportError:
        return
    import collective_matmul.jax as cmj

    def in_a_shard_map(**arguments):
        run = jax.shard_map(
            lambda x, y: cmj.all_gather_matmul_local(x, y, **arguments),
            mesh=mesh,
            in_specs=jax.sharding.PartitionSpec(),
            out_specs=jax.sharding.PartitionSpec(),
        )
        return jax.eval_shape(run, *operands)

    def traced(**arguments):
        return jax.eval_shape(
            lambda: cmj.all_gather_matmul(np.ones((8, 128)), np.ones((128, 128)), **arguments)
        )

    mesh = jax.sharding.AbstractMesh((1,), ("tp",))
    operands = [jax.ShapeDtypeStruct(of, np.float32) for of in ((8, 128), (128, 128))]
    given = {"mesh": mesh, "axis_name": "tp"}
    public = cmj.all_gather_matmul
    CALLS.update(
        {
            "jax.all_gather_matmul": (public, lambda **it: traced(**{**given, **it}), {}),
            "jax.all_gather_matmul_local": (
                cmj.all_gather_matmul_local,
                in_a_shard_map,
                {"axis_name": "tp"},
            ),
            "jax.get_tuned_block_sizes": (
                cmj.get_tuned_block_sizes,
                cmj.get_tuned_block_sizes,
                {**SHAPE, "dtype_name": "bfloat16", "tp_size": 2, "chip": "v6e"},
            ),
        }
    )
    for query in ("validate_inputs", "get_kernel_name", "get_cost_estimate"):
        function = getattr(cmj, query)
        CALLS[f"jax.{query}"] = (
            public,
            lambda function=function, **it: function(*operands, **{**given, "chip": "v6e", **it}),
            {},
        )


add_those_of_jax()

ABSURD = (10**30, -(10**30), 10**5000, 2.5, float("nan"), "seven", b"seven", object(), {1: 2}, [[]])
QUESTIONABLE = (-1, 0, 2**40, -(2**63), True, None, np.int64(3), np.float32(2), 1e300, (), [-1], "")


# Of what is absurd elsewhere.
SENSIBLE = {int: int, UInt64: int, float: (int, float), str: str, bytes: bytes}


def parameters():
    for name, (function, _, _) in CALLS.items():
        for parameter in inspect.signature(function).parameters:
            if parameter not in ("self", "x", "y", "x_local", "out", "bias"):
                if not (name == "numpy.plan" and parameter == "axis"):
                    yield name, parameter


@pytest.mark.parametrize("name, parameter", list(parameters()))
def test_arguments_of_no_sense_are_refused_by_name(name, parameter):
    function, call, given = CALLS[name]
    hint = typing.get_type_hints(function, include_extras=True)[parameter]
    refused = 0
    for number, value in enumerate((*ABSURD, *QUESTIONABLE)):
        try:
            call(**{**given, parameter: value})
        except collective_matmul.Error as error:
            refused += isinstance(error, InvalidArgumentError) and parameter in str(error)
            assert len(str(error)) < 1000
        else:
            hints = typing.get_args(hint) if hint not in SENSIBLE else [hint]
            sensible = any(isinstance(value, SENSIBLE.get(each, ())) for each in hints)
            assert sensible or number >= len(ABSURD), number
    assert refused >= 1


def test_one_of_many_ranks_and_of_several_values():
    with pytest.raises(InvalidArgumentError, match=r"n_local is \[3, 10{30}\]; it must be"):
        cmm.run_ranks(1, lambda mesh: cmm.plan(mesh.axis(), m=4, k=8, n_local=[3, 10**30]))
    text = r"ranks is \{'tp': 2.5\}; it must be an integer or a dict from a str to an integer$"
    with pytest.raises(InvalidArgumentError, match=text):
        cmm.run_ranks({"tp": 2.5}, lambda mesh: None)
    for wrong in ({3, 4}, {3: 4}, "34"):
        with pytest.raises(InvalidArgumentError, match="n_local is .*a list, each an integer$"):
            cmm.run_ranks(1, lambda mesh: cmm.plan(mesh.axis(), m=4, k=8, n_local=wrong))
    text = r"bias is 3; it must be None, numpy.ndarray, or a list, each a number$"
    with pytest.raises(InvalidArgumentError, match=text):
        cmm.Weights.pack(ROWS, bias=3)
    with pytest.raises(InvalidArgumentError, match="m is an integer of 16610 bits; it must be"):
        cmm.simulate(**{**SHAPE, "m": 10**5000}, ranks=2)
    with pytest.raises(InvalidArgumentError, match="pieces is 4294967297; .*of 32 bits"):
        cmm.simulate(**SHAPE, ranks=2, pieces=2**32 + 1)


@checked
def anything(a: int, *rest: Int32, b: bool = False, c: UInt64 | None = None, d: float = 0.0):
    return (a, *rest), b, c, d


def test_scalars_of_numpy_become_those_of_python():
    (a, rest), b, c, d = anything(np.int8(1), np.int64(2), b=np.True_, c=np.uint64(2**64 - 1), d=3)
    assert (a, rest, b, c, d) == (1, 2, True, 2**64 - 1, 3.0)
    assert [type(it) for it in (a, rest, b, c, d)] == [int, int, bool, int, float]
    for wrong in ((np.bool_(True),), (1, 2**31), (np.ones(2, int),)):
        with pytest.raises(InvalidArgumentError, match="^(a|an extent of rest) is "):
            anything(*wrong)
    awkward = ("1", b"1", -1j, np.complex64(1), np.ones(2), np.ones(1), np.array(1j))
    for name, value in itertools.product("bcd", awkward):
        with pytest.raises(InvalidArgumentError, match=f"^{name} is "):
            anything(1, **{name: value})
    with pytest.raises(TypeError, match="unexpected keyword argument 'e'"):
        anything(1, e=2)
    assert Arguments(anything).converted("unknown", 5) == 5

"""The PyTorch operator as autograd and the compiler see it: gradients, shapes, one opaque call."""

import shutil

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)

import torch.distributed as dist  # noqa: E402
from torch_ranks import Ranks  # noqa: E402

import collective_matmul.torch as cmt  # noqa: E402
from collective_matmul import (  # noqa: E402
    InvalidArgumentError,
    PeerFailedError,
    UnsupportedError,
)

K = 16
OPTIONS = {
    "bias_sides": [1],
    "packed_sides": [-1, -1],
    "return_A": True,
    "transposed": False,
    "activations": [],
    "swiglu": False,
    "out_dtype": None,
    "rows": None,
    "algorithm": "auto",
    "threads": 1,
    "deadline_seconds": 30.0,
    "native_bf16": True,
}


@pytest.fixture(scope="module")
def two():
    with Ranks(2) as ranks:
        yield ranks


def make(seed, *shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator) - 0.5).to(dtype)


class Model(torch.nn.Module):
    """Three products of one gather, in the ways that a weight may be given, and the gathered x."""

    def __init__(self, rank, dtype):
        super().__init__()
        self.plain = torch.nn.Parameter(make(10 + rank, 5, K, dtype=dtype))
        self.other = torch.nn.Parameter(make(20 + rank, 7, K, dtype=dtype))
        self.bias = torch.nn.Parameter(make(30 + rank, 7, dtype=dtype))

    def forward(self, x, rows=None, group=None):
        gathered, outs = cmt.all_gather_matmul(
            x,
            [self.plain, self.other],
            group,
            transposed=True,
            bias=[None, self.bias],
            return_A=True,
            rows=rows,
        )
        return [*outs, gathered]


def sum_of(results, rank):
    """A number that depends on every element of the results, each in its way."""
    return sum(
        (make(40 + rank + 2 * i, *result.shape, dtype=result.dtype) * result).sum()
        for i, result in enumerate(results)
    )


def gradients(rank, dtype, rows, forward):
    """Compared with autograd over the whole problem in one process."""
    num_ranks = dist.get_world_size()
    torch._dynamo.reset()
    by_rank = rows or [4] * num_ranks
    whole = make(1, sum(by_rank), K, dtype=dtype)
    mine = whole.split(by_rank)[rank].clone().requires_grad_()
    model = Model(rank, dtype)
    call = forward(model)
    sum_of(call(mine, rows), rank).backward()

    whole.requires_grad_()
    models = [Model(r, dtype) for r in range(num_ranks)]
    for r, each in enumerate(models):
        results = [whole @ each.plain.t(), whole @ each.other.t() + each.bias, whole]
        sum_of(results, r).backward()
    near = {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 0.05, "atol": 0.05}
    torch.testing.assert_close(mine.grad, whole.grad.split(by_rank)[rank], **near)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, models[rank].get_parameter(name).grad, **near)


def eager(model):
    return model


def aot_eager(model):
    return torch.compile(model, backend="aot_eager", fullgraph=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("rows", [None, [5, 2], [0, 3]], ids=str)
def test_gradients(two, dtype, rows):
    two.run(gradients, dtype, rows, eager)


def test_gradients_when_compiled(two):
    two.run(gradients, torch.float32, None, aot_eager)


def gathered_again(rank):
    """Without the gathered x among the results."""
    whole = make(1, 6, 3, K)
    mine, weight = whole.chunk(2)[rank].clone(), make(10 + rank, K, 5).requires_grad_()
    _, [out] = cmt.all_gather_matmul(mine, [weight])
    sum_of([out], rank).backward()
    again = weight.detach().clone().requires_grad_()
    sum_of([whole @ again], rank).backward()
    torch.testing.assert_close(weight.grad, again.grad)
    assert mine.grad is None


def test_the_gradient_of_a_weight_alone(two):
    two.run(gathered_again)


def no_gradients(rank):
    x = torch.ones(2, K, requires_grad=True)
    gate, up = torch.ones(K, 3), torch.ones(K, 3)
    packed = cmt.pack(gate)
    for options in ({"activation": "relu"}, {"swiglu": True}):
        with pytest.raises(UnsupportedError, match="no gradient goes through an activation"):
            cmt.all_gather_matmul(x, [gate, up], **options)
        with torch.no_grad():
            cmt.all_gather_matmul(x, [gate, up], **options)
    with pytest.raises(UnsupportedError, match="no gradient goes through packed weights"):
        cmt.all_gather_matmul(x, [packed])
    assert cmt.all_gather_matmul(x.detach(), [packed])[1][0].shape == (4, 3)
    with pytest.raises(UnsupportedError, match="no forward-mode gradient"):
        torch.func.jvp(lambda x: cmt.all_gather_matmul(x, [gate])[1][0], (gate.t(),), (gate.t(),))
    # Not by the function, but by the operator itself.
    options = {**OPTIONS, "group_name": dist.group.WORLD.group_name, "activations": ["relu"]}
    options |= {"bias_sides": [], "packed_sides": [-1], "return_A": False}
    [out] = torch.ops.collective_matmul.all_gather_matmul(x, [gate], [], **options)
    with pytest.raises(UnsupportedError, match="no gradient goes through an activation"):
        out.sum().backward()


def test_gradients_that_there_are_not(two):
    two.run(no_gradients)


def compiled(rank, backend, dynamic, shapes):
    torch._dynamo.reset()
    num_ranks = dist.get_world_size()
    group = dist.new_group(list(range(num_ranks)))
    packed = cmt.pack(make(50 + rank, K, 9))
    gate, up = make(60 + rank, K, 6), make(70 + rank, K, 6)

    def body(x, group):
        _, outs = cmt.all_gather_matmul(torch.relu(x), [gate, packed], group, gather_dim=-2)
        _, [mixed] = cmt.all_gather_matmul(x, [gate, up], group, swiglu=True, gather_dim=-2)
        return outs[0] + 1, outs[1] * 2, mixed.sum(-1)

    once = torch.compile(body, backend=backend, fullgraph=True, dynamic=dynamic)
    with torch.no_grad():
        for shape in shapes:
            for where in (group, group.group_name, None)[: 3 if shape == shapes[0] else 1]:
                x = make(sum(shape), *shape)
                for ours, wanted in zip(once(x, where), body(x, where), strict=True):
                    torch.testing.assert_close(ours, wanted)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_one_opaque_call_when_compiled(two, dynamic):
    two.run(compiled, "aot_eager", dynamic, [(4, K), (6, K), (2, 3, K), (2, 5, K)])


@pytest.mark.skipif(not shutil.which("g++"), reason="inductor needs a C++ compiler, g++")
def test_inductor(two):
    two.run(compiled, "inductor", None, [(4, K)], seconds=300)


def shapes(rank):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(3, 4, K, dtype=torch.bfloat16)
        gathered, outs = cmt.all_gather_matmul(
            x,
            [torch.empty(K, 5, dtype=x.dtype), torch.empty(K, 0, dtype=x.dtype)],
            return_A=True,
            gather_dim=1,
            rows=[[4, 9], [1, 4]][rank],
            out_dtype=torch.float32,
        )
        total = [13, 5][rank]
        assert gathered.shape == (3, total, K) and gathered.dtype == torch.bfloat16
        assert [out.shape for out in outs] == [(3, total, 5), (3, total, 0)]
        assert all(out.dtype == torch.float32 for out in outs)
        with pytest.raises(InvalidArgumentError, match="weight 0 is"):
            cmt.all_gather_matmul(x, [torch.empty(K + 1, 5, dtype=x.dtype)])
    outs = cmt.all_gather_matmul(
        torch.empty(3, K, device="meta"), [torch.empty(K, 5, device="meta")] * 2, swiglu=True
    )[1]
    assert [out.shape for out in outs] == [(6, 5)] and outs[0].device.type == "meta"


def test_shapes_without_values(two):
    two.run(shapes)


def checked(rank, gradient):
    x = make(1 + rank, 4, K).requires_grad_(gradient)
    weights = [make(10 + rank, K, 5).requires_grad_(gradient), make(20 + rank, K, 6)]
    options = {**OPTIONS, "group_name": dist.group.WORLD.group_name}
    operators = torch.ops.collective_matmul
    torch.library.opcheck(
        operators.all_gather_matmul.default, (x, weights, [make(3, 6)]), options
    )
    common = {name: options[name] for name in ("group_name", "rows", "deadline_seconds")}
    torch.library.opcheck(operators.all_gather.default, (x.detach(),), common)
    torch.library.opcheck(operators.reduce_scatter.default, (x.detach(),), common)


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
def test_the_operators_keep_the_rules_of_operators(two, gradient):
    two.run(checked, gradient)


def one_rank_errs(rank, fullgraph, mistake):
    """Where it were not told, rank 0 would be given the rows of rank 1's next call."""
    torch._dynamo.reset()
    x, w = make(rank, 2, K), make(40, K, 3)

    def body(x, w):
        if rank == 1 and mistake == "a shape":
            w = w[1:]
        weights = w if rank == 1 and mistake == "no list" else [w]
        threads = 2.5 if rank == 1 and mistake == "an option" else 1
        return cmt.all_gather_matmul(x, weights, threads=threads, deadline_seconds=60)[1][0]

    words = {"a shape": "weight 0 is", "no list": "weights is a", "an option": "threads is 2.5"}
    with torch.no_grad():
        once = torch.compile(body, backend="aot_eager", fullgraph=fullgraph)
        with pytest.raises(Exception if rank == 1 else PeerFailedError, match=words[mistake]):
            once(x, w)
        for _ in range(2):
            [out] = cmt.all_gather_matmul(x, [w], deadline_seconds=60)[1]
            expected = torch.cat([make(0, 2, K), make(1, 2, K)]) @ w
            torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("fullgraph", [False, True], ids=["breaks", "fullgraph"])
@pytest.mark.parametrize("mistake", ["a shape", "no list", "an option"])
def test_a_mistake_that_a_compiler_finds_reaches_the_other_rank(two, fullgraph, mistake):
    two.run(one_rank_errs, fullgraph, mistake)

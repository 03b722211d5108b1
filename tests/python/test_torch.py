"""The products of the PyTorch operator: the bits of the engine, near the exact product."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)

import torch.distributed as dist  # noqa: E402
from torch_ranks import Ranks  # noqa: E402

import collective_matmul.torch as cmt  # noqa: E402
from collective_matmul import _core  # noqa: E402
from collective_matmul.torch._tensor import DTYPES, matrix  # noqa: E402

K = 48
ROUNDING = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request):
    with Ranks(request.param) as ranks:
        yield ranks


@pytest.fixture(scope="module")
def two():
    with Ranks(2) as ranks:
        yield ranks


def make(seed, *shape, dtype=torch.float32):
    """The same on every rank, which so knows all of the problem."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator) - 0.5).to(dtype)


def engine(x, weights, *, bias=None, out_dtype=None, activations=(), swiglu=False):
    """The product on one rank by the extension module alone; weights are [k, n]."""
    dtype, out_dtype = DTYPES[x.dtype], out_dtype or x.dtype
    [mesh] = _core.Mesh.threads([("ranks", 1)])
    plan = _core.Plan.make(
        mesh.axis("ranks"),
        m=x.shape[0],
        k=x.shape[1],
        n_local=[w.shape[1] for w in weights],
        dtype=dtype,
        out_dtype=DTYPES[out_dtype],
        activations=activations,
        swiglu=swiglu,
    )
    biases = bias or [None] * len(weights)
    sides = [
        _core.Weights.pack(matrix(w, dtype), bias=[] if b is None else b.float().tolist())
        for w, b in zip(weights, biases, strict=True)
    ]
    outs = [torch.empty(x.shape[0], w.shape[1], dtype=out_dtype) for w in weights]
    outs = outs[:1] if swiglu else outs
    _core.all_gather_matmul(
        plan, matrix(x, dtype), sides, [matrix(o, DTYPES[out_dtype]) for o in outs]
    )
    return outs


def assert_near(out, x, weight):
    """Within the bound of a sum of k terms, each rounded, and of one rounding at the end."""
    exact = x.double() @ weight.double()
    terms = x.double().abs() @ weight.double().abs()
    bound = x.shape[1] * 2.0**-24 * terms + ROUNDING[out.dtype] * exact.abs() + 1e-7
    assert ((out.double() - exact).abs() <= bound).all()


def product(rank, dtype, rows, n, num_weights, options):
    """One call, compared with the engine on one rank and with the exact product."""
    num_ranks = dist.get_world_size()
    even = isinstance(rows, int)
    by_rank = [rows] * num_ranks if even else rows[:num_ranks]
    x = make(1, sum(by_rank), K, dtype=dtype)
    mine = x.split(by_rank)[rank]
    weights = [make(10 * rank + side, K, n + side, dtype=dtype) for side in range(num_weights)]
    transposed = options.get("transposed", False)
    given = [w.t().contiguous() for w in weights] if transposed else weights

    gathered, outs = cmt.all_gather_matmul(
        mine, given, return_A=True, rows=None if even else by_rank, deadline_seconds=30, **options
    )
    assert torch.equal(gathered, x)
    for out, same, weight in zip(outs, engine(x, weights), weights, strict=True):
        assert out.dtype == dtype and torch.equal(out, same)
        assert_near(out, x, weight)


@pytest.mark.parametrize("dtype", ROUNDING, ids=lambda dtype: DTYPES[dtype])
@pytest.mark.parametrize("rows", [1, 3, 40, [5, 0, 1, 17], [0, 2, 0, 0]], ids=str)
@pytest.mark.parametrize("transposed", [False, True], ids=["kn", "nk"])
def test_products_are_those_of_the_engine(ranks, dtype, rows, transposed):
    ranks.run(product, dtype, rows, 33, 2, {"transposed": transposed})


@pytest.mark.parametrize("algorithm", ["direct", "ring", "bidirectional", "recursive_doubling"])
def test_algorithms_and_threads_leave_the_bits(ranks, algorithm):
    ranks.run(product, torch.float32, 24, 70, 1, {"algorithm": algorithm, "threads": 2})


def no_rows_no_columns(rank):
    x, weight = torch.empty(0, K), torch.ones(K, 8)
    assert cmt.all_gather_matmul(x, [weight])[1][0].shape == (0, 8)
    [out] = cmt.all_gather_matmul(torch.ones(2, K), [torch.ones(K, 0)])[1]
    assert out.shape == (2 * dist.get_world_size(), 0)
    [out] = cmt.all_gather_matmul(torch.ones(2, 0), [torch.ones(0, 3)])[1]
    assert torch.equal(out, torch.zeros(2 * dist.get_world_size(), 3))


def test_no_rows_no_columns_and_no_depth(ranks):
    ranks.run(no_rows_no_columns)


def epilogues(rank):
    num_ranks = dist.get_world_size()
    x = make(1, 6 * num_ranks, K, dtype=torch.bfloat16)
    mine = x.chunk(num_ranks)[rank]
    gate, up = make(2 + rank, K, 20, dtype=x.dtype), make(9 + rank, K, 20, dtype=x.dtype)
    half, full = make(5, 20, dtype=x.dtype), make(6, 20)

    def both(weights, bias=None, **options):
        names = options.pop("activation", None)
        _, outs = cmt.all_gather_matmul(mine, weights, bias=bias, activation=names, **options)
        names = [names] * len(weights) if isinstance(names, str) else names or []
        same = engine(x, weights, bias=bias, activations=names, **options)
        assert len(outs) == len(same)
        assert all(torch.equal(out, one) for out, one in zip(outs, same, strict=True))
        return outs

    both([gate, up], bias=[None, half])
    both([gate, up], bias=[full, half], activation="gelu_tanh")
    both([gate, up], activation=["relu", "none"])
    assert both([gate], out_dtype=torch.float32)[0].dtype == torch.float32
    [out] = both([gate, up], swiglu=True, out_dtype=torch.float32)
    exact = torch.nn.functional.silu(x.double() @ gate.double()) * (x.double() @ up.double())
    assert torch.allclose(out.double(), exact, rtol=1e-4, atol=1e-5)


def test_epilogues(ranks):
    ranks.run(epilogues)


def packed(rank):
    num_ranks = dist.get_world_size()
    x = make(1, 3 * num_ranks, K)
    mine = x.chunk(num_ranks)[rank]
    first, second, bias = make(2 + rank, K, 20), make(9 + rank, 30, K), make(4, 30)
    ready = cmt.pack(second, transposed=True, bias=bias)
    assert (ready.k, ready.n, ready.dtype) == (K, 30, torch.float32) and ready.bytes > 0
    _, outs = cmt.all_gather_matmul(mine, [first, ready])
    assert torch.equal(outs[0], engine(x, [first])[0])
    assert torch.equal(outs[1], engine(x, [second.t()], bias=[bias])[0])
    negative = torch.complex(first, first).conj().imag  # its memory holds what it negates
    [out] = cmt.all_gather_matmul(mine, [cmt.pack(negative)])[1]
    assert torch.equal(out, engine(x, [-first])[0])
    handle = ready.handle
    del ready
    with pytest.raises(cmt._op.InvalidArgumentError, match="were freed"):
        cmt._weights.packed(handle)


def test_packed_weights_beside_plain_ones(two):
    two.run(packed)


def other_layouts(rank):
    num_ranks = dist.get_world_size()
    x = make(1, 8 * num_ranks, K)
    mine = x.chunk(num_ranks)[rank]
    weight = make(2 + rank, K, 20)
    [want] = engine(x, [weight])
    wide = torch.full((8, 2 * K), float("nan"))
    wide[:, :K] = mine
    spread = torch.full((8, K, 3), float("nan"))
    spread[:, :, 1] = mine
    for same in (mine, wide[:, :K], mine.t().contiguous().t(), spread[:, :, 1]):
        for same_weight in (weight, weight.t().contiguous().t(), weight.flip(0).flip(0)):
            assert torch.equal(cmt.all_gather_matmul(same, [same_weight])[1][0], want)
    repeated = torch.ones(1, K).expand(8, K)
    assert torch.equal(
        cmt.all_gather_matmul(repeated, [weight])[1][0],
        engine(torch.ones(8 * num_ranks, K), [weight])[0],
    )


def test_other_layouts(two):
    two.run(other_layouts)


def more_dimensions(rank):
    num_ranks = dist.get_world_size()
    weight = make(2 + rank, K, 20)
    for gather_dim, shape in ((0, (4, 3, 5)), (1, (3, 4, 5)), (2, (3, 5, 4)), (-2, (2, 1, 4))):
        whole = list(shape)
        whole[gather_dim if gather_dim >= 0 else gather_dim + 1] *= num_ranks
        x = make(1, *whole, K)
        dim = gather_dim % x.dim()
        mine = x.chunk(num_ranks, dim)[rank]
        gathered, [out] = cmt.all_gather_matmul(
            mine, [weight], gather_dim=gather_dim, return_A=True
        )
        assert torch.equal(gathered, x)
        assert torch.equal(out, engine(x.reshape(-1, K), [weight])[0].view(*whole, 20))
    uneven = make(3, 3, 7, K)
    rows = [5, 2]
    mine = uneven.split(rows, 1)[rank]
    [out] = cmt.all_gather_matmul(mine, [weight], gather_dim=1, rows=rows)[1]
    assert torch.equal(out, engine(uneven.reshape(-1, K), [weight])[0].view(3, 7, 20))


def test_more_dimensions(two):
    two.run(more_dimensions)


def in_shared_memory(rank):
    num_ranks = dist.get_world_size()
    x = make(1, 8 * num_ranks, K, dtype=torch.bfloat16)
    mine = cmt.empty(8, K, dtype=x.dtype)
    mine.copy_(x.chunk(num_ranks)[rank])
    assert mine.data_ptr() % 64 == 0 and cmt.empty(0, K).shape == (0, K)
    weight = make(2 + rank, K, 20, dtype=x.dtype)
    assert torch.equal(cmt.all_gather_matmul(mine, [weight])[1][0], engine(x, [weight])[0])
    part = mine[2:]  # outlives the tensor it is a part of
    want = mine[2:].clone()
    del mine
    assert torch.equal(part, want)


def test_x_in_shared_memory(two):
    two.run(in_shared_memory)


def groups(rank):
    pairs = [dist.new_group([0, 2]), dist.new_group([3, 1])]
    evens, odds = pairs
    mine, other = (evens, odds) if rank % 2 == 0 else (odds, evens)
    members = [0, 2] if rank % 2 == 0 else [1, 3]  # a group's ranks are in ascending order
    weight = make(2 + rank, K, 20)
    x = make(1, 8, K)
    want = engine(x[[2 * r + i for r in members for i in range(2)]], [weight])[0]
    for _ in range(3):  # in turn with the whole group
        out = cmt.all_gather_matmul(x[2 * rank : 2 * rank + 2], [weight], mine)[1][0]
        assert torch.equal(out, want)
        out = cmt.all_gather_matmul(x[2 * rank : 2 * rank + 2], [weight])[1][0]
        assert torch.equal(out, engine(x, [weight])[0])
    with pytest.raises(cmt.InvalidArgumentError, match="no rank of it"):
        cmt.all_gather_matmul(x, [weight], other)
    alone = [dist.new_group([r]) for r in range(4)][rank]
    assert torch.equal(cmt.all_gather_matmul(x, [weight], alone)[1][0], engine(x, [weight])[0])


def test_groups_beside_each_other():
    with Ranks(4) as four:
        four.run(groups)


def many_shapes(rank):
    weight = make(2 + rank, K, 20)
    for rows in [*range(1, 64), 5, 1000, 3]:
        x = make(rows, 2 * rows, K)
        out = cmt.all_gather_matmul(x.chunk(2)[rank], [weight])[1][0]
        assert torch.equal(out, engine(x, [weight])[0])
    for m in (1, 3, 5, 77):  # as even as can be
        x, rows = make(m, m, K), [m - m // 2, m // 2]
        out = cmt.all_gather_matmul(x.split(rows)[rank], [weight], rows=rows)[1][0]
        assert torch.equal(out, engine(x, [weight])[0])
    plans = cmt._group.ranks_of(dist.group.WORLD.group_name)._plans
    made = len(plans)
    for seconds in range(40):  # a plan each
        cmt.all_gather_matmul(torch.ones(1, K), [weight], deadline_seconds=30 + seconds)
    return made, len(plans)


def test_plans_are_bounded():
    with Ranks(2) as ranks:
        # For 1, 2, 4, ... 128 and 2048 rows in all.
        assert ranks.run(many_shapes) == [(10 - 1, cmt._group._MAX_PLANS)] * 2

"""What becomes of a call of the PyTorch operator that fails: an error on every rank, and a next
call that works."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)

import torch.distributed as dist  # noqa: E402
from torch_ranks import Ranks  # noqa: E402

import collective_matmul.torch as cmt  # noqa: E402
from collective_matmul import (  # noqa: E402
    BusyError,
    DeadlineError,
    Error,
    InvalidArgumentError,
    MeshDeadError,
    OutOfMemoryError,
    PeerFailedError,
    UnsupportedError,
    _core,
)

K = 16


@pytest.fixture(scope="module")
def two():
    with Ranks(2) as ranks:
        yield ranks


def works(rank, rows=2):
    """A right call."""
    [out] = cmt.all_gather_matmul(
        torch.full((rows, K), rank + 1.0), [torch.ones(K, 3)], deadline_seconds=30
    )[1]
    sums = [K * (r + 1.0) for r in range(dist.get_world_size()) for _ in range(rows)]
    assert out[:, 0].tolist() == sums


def refuses(text, x, weights, *, kind=InvalidArgumentError, **options):
    with pytest.raises(kind, match=text):
        cmt.all_gather_matmul(x, weights, deadline_seconds=options.pop("deadline", 30), **options)


def mistakes(rank):
    x, w = torch.ones(2, K), torch.ones(K, 3)
    packed = cmt.pack(w)
    refuses("x is torch.float64; it must be float32", x.double(), [w.double()])
    refuses("weight 0 is torch.bfloat16 on cpu and x torch.float32", x, [w.bfloat16()])
    refuses("weight 1 is torch.float32 on meta", x, [w, w.to("meta")])
    refuses(r"weight 1 is \[17, 3\] and x has k=16 columns; a weight is \[k, n\]", x,
            [w, torch.ones(K + 1, 3)])
    refuses(r"weight 0 is \[16, 3\] .* a weight is \[n, k\]", x, [w], transposed=True)
    refuses("weights is a Tensor; it must be a list", x, w)
    refuses("weights is empty", x, [])
    refuses("x is a ndarray; it must be a tensor", x.numpy(), [w])
    refuses("weight 1 is a NoneType; it must be a tensor", x, [w, None])
    refuses("bias 0 is a float; it must be a tensor", x, [w], bias=[3.0])
    refuses("bias 0 is on meta and x on cpu", x, [w], bias=[torch.ones(3, device="meta")])
    refuses("x has layout torch.sparse_coo", x.to_sparse(), [w])
    refuses("threads is 2.5; it must be None or an integer$", x, [w], threads=2.5)
    refuses("threads is 10{30}; it must be None or an integer of 32 bits", x, [w], threads=10**30)
    refuses("threads is True; it must be", x, [w], threads=True)
    refuses("algorithm is None; it must be a str$", x, [w], algorithm=None)
    refuses("deadline_seconds is 'x'; it must be a number", x, [w], deadline="x")
    refuses("return_A is 1; it must be True or False", x, [w], return_A=1)
    refuses("gather_dim is '0'; it must be an integer", x, [w], gather_dim="0")
    refuses(r"activation is \[3\]; it must be None, a str, or a list, each a str", x, [w],
            activation=[3])
    refuses(r"rows is \[2.0, 2.0\]; it must be None, or a list, each an integer$", x, [w],
            rows=[2.0, 2.0])
    refuses("rows is .*; it must be None, or a list, each an integer of 64 bits", x, [w],
            rows=[2, 10**30])
    refuses(r"activation is '.ud800'; it must be None, a str that UTF-8 can hold", x, [w],
            activation="\ud800")
    refuses("out_dtype is 'f32'; it must be None or torch.dtype", x, [w], out_dtype="f32")
    refuses(r"x is \[16\]; it must have two", x[0], [w])
    refuses("gather_dim is 1 and x has 2 dim.* not the last", x, [w], gather_dim=1)
    refuses("gather_dim is 2", x, [w], gather_dim=2)
    refuses("bias has 1 entries; it needs one for each of the 2", x, [w, w], bias=[None])
    refuses(r"bias 1 is \[4\]; it must be \[3\]", x, [w, w], bias=[None, torch.ones(4)])
    refuses("bias 0 is of packed weights", x, [packed], bias=[torch.ones(3)])
    refuses("weight 0 was packed as torch.float32 with k=16; x is", x[:, 1:], [packed])
    refuses("swiglu takes two weights", x, [w], swiglu=True)
    refuses("out_dtype is torch.int8", x, [w], out_dtype=torch.int8)
    refuses(r"rows is \[3\]; .*for each of the 2 ranks", x, [w], rows=[3])
    refuses(f"rows says 1 for rank {rank}, whose x has 2", x, [w], rows=[1, 1])
    refuses("softplus", x, [w], activation="softplus")
    refuses("star", x, [w], algorithm="star")
    refuses("deadline_seconds is nan", x, [w], deadline=float("nan"))
    refuses("threads=-1", x, [w], threads=-1)
    refuses("there is no process group 'none'", x, [w], group="none")
    with pytest.raises(InvalidArgumentError, match="dtype is torch.int32"):
        cmt.empty(2, 2, dtype=torch.int32)
    with pytest.raises(InvalidArgumentError, match=r"an extent of shape is \(2, 2\); it must"):
        cmt.empty((2, 2))
    with pytest.raises(InvalidArgumentError, match="transposed is 1; it must be True or False"):
        cmt.pack(w, transposed=1)
    with pytest.raises(InvalidArgumentError, match=r"weight is \[3\]"):
        cmt.pack(torch.ones(3))
    with pytest.raises(InvalidArgumentError, match="weight is None; it must be torch.Tensor"):
        cmt.pack(None)
    with pytest.raises(InvalidArgumentError, match=r"bias is \[16\] and weight \[16, 3\]"):
        cmt.pack(w, bias=torch.ones(K))
    works(rank)


def test_mistakes_are_told_and_the_next_call_works(two):
    two.run(mistakes)


def on_another_device(rank):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x, w = torch.ones(2, K, device="cuda"), torch.ones(K, 3, device="cuda")
        refuses("x is on device cuda:0; this operator multiplies on the CPU", x, [w])
        refuses("weight 0 is on device cuda:0", torch.ones(2, K), [w])


def test_a_tensor_of_another_device_is_refused(two):
    two.run(on_another_device)


def one_rank_errs(rank):
    works(rank)
    begin = time.monotonic()
    if rank == 1:
        refuses("weight 0 is", torch.ones(2, K), [torch.ones(K + 1, 3)])
    else:
        text = r"rank 1 has left the mesh: weight 0 is \[17, 3\]"
        refuses(text, torch.ones(2, K), [torch.ones(K, 3)], kind=PeerFailedError)
    assert time.monotonic() - begin < 20
    works(rank)


def test_the_mistake_of_one_rank_reaches_the_other(two):
    two.run(one_rank_errs)


def one_rank_errs_before_the_operator(rank):
    """Where it were not told, the next calls would pair each rank's call with another one's."""
    w = torch.ones(K, 3)
    for weights, options, message in (
        (w, {}, "weights is a Tensor"),
        ([None], {}, "weight 0 is"),
        ([w], {"algorithm": "\ud800"}, "algorithm is"),
    ):
        works(rank)
        if rank == 1:
            refuses(message, torch.ones(2, K), weights, **options)
        else:
            text = f"rank 1 has left the mesh: {message}"
            refuses(text, torch.ones(2, K), [w], kind=PeerFailedError)
    works(rank)


def test_a_mistake_before_the_operator_reaches_the_other_rank(two):
    two.run(one_rank_errs_before_the_operator)


def no_room_for_a_tensor(rank):
    works(rank)
    if rank == 1:
        for extent in (2**30, 2**40):
            with pytest.raises(OutOfMemoryError, match="bytes"):
                cmt.empty(extent, 2**30)
    works(rank)


def test_a_tensor_that_has_no_room_ends_no_call(two):
    two.run(no_room_for_a_tensor)


def one_rank_errs_first(rank):
    """Before there is a mesh, twice."""
    for _ in range(2):
        if rank == 1:
            refuses("swiglu", torch.ones(2, K), [torch.ones(K, 3)], swiglu=True)
        else:
            text = "rank 1 of process group '0': swiglu takes"
            refuses(text, torch.ones(2, K), [torch.ones(K, 3)], kind=PeerFailedError)
    works(rank)


def test_a_mistake_in_the_first_call():
    with Ranks(2) as ranks:
        ranks.run(one_rank_errs_first)


def other_rows(rank, rows, kind):
    with pytest.raises(kind) as caught:
        cmt.all_gather_matmul(
            torch.ones(rows[rank], K), [torch.ones(K, 3)], deadline_seconds=3
        )
    return str(caught.value)


def test_ranks_with_different_rows(two):
    # In plans that are not made yet: they disagree while they make one.
    for text in two.run(other_rows, [100, 200], InvalidArgumentError):
        assert "disagree on m: rank 0 has 256, rank 1 has 512" in text
    two.run(works)
    # In one plan, whose calls differ.
    for text in two.run(other_rows, [3, 4], Error):
        assert "6" in text and "8" in text, text
    two.run(works)
    # In two plans that both have.
    two.run(works, 2)
    two.run(works, 20)
    for text in two.run(other_rows, [2, 20], Error):
        print(text)
    two.run(works)


def other_columns(rank):
    kind = torch.bfloat16 if rank == 1 else torch.float32
    refuses("disagree on dtype", torch.ones(500, K).to(kind), [torch.ones(K, 3).to(kind)])
    works(rank)
    width = K + 10 + rank  # no plan is made for either
    refuses("disagree on k", torch.ones(2, width), [torch.ones(width, 3)])
    works(rank)


def test_ranks_with_different_columns_and_types(two):
    two.run(other_columns)


def late(rank):
    if rank == 1:
        dist.barrier()
        text = "rank 0 of process group '0': rank 1 of process group '0' has not come"
        refuses(text, torch.ones(2, K), [torch.ones(K, 3)], kind=PeerFailedError)
    else:
        refuses("rank 1 of process group '0' has not come", torch.ones(2, K), [torch.ones(K, 3)],
                kind=DeadlineError, deadline=0.5)
        dist.barrier()
    works(rank)
    if rank == 1:
        dist.barrier()
        refuses("rank 1", torch.ones(2, K), [torch.ones(K, 3)], kind=Error)
    else:
        with pytest.raises(DeadlineError, match="rank 1") as caught:
            cmt.all_gather_matmul(torch.ones(2, K), [torch.ones(K, 3)], deadline_seconds=0.5)
        assert caught.value.rank == 1
        dist.barrier()
    works(rank)


def test_a_late_rank_is_named():
    with Ranks(2) as ranks:
        ranks.run(late)


def killed(rank, early):
    if not early:
        works(rank)
    if rank == 2:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    with pytest.raises(Error, match="rank 2") as caught:
        cmt.all_gather_matmul(
            torch.ones(2, K), [torch.ones(K, 3)], deadline_seconds=3 if early else 30
        )
    assert caught.value.rank == 2 and time.monotonic() - begin < 15
    text = "rank 2 of process group '0' has not come"  # the other survivor may say so first
    with pytest.raises((DeadlineError, PeerFailedError), match=text) as again:
        cmt.all_gather_matmul(torch.ones(2, K), [torch.ones(K, 3)], deadline_seconds=3)
    assert again.value.rank == 2
    survivors = dist.new_group([0, 1], use_local_synchronization=True)
    [out] = cmt.all_gather_matmul(torch.ones(2, K), [torch.ones(K, 3)], survivors)[1]
    assert out.shape == (4, 3)
    return isinstance(caught.value, PeerFailedError)


@pytest.mark.parametrize("early", [False, True], ids=["later", "before its first call"])
def test_a_killed_rank_is_named(early):
    with Ranks(3) as ranks:
        told = ranks.run(killed, early, may_end={2})
        assert early or told == [True, True, None]


def killed_with_the_store(rank):
    works(rank)
    if rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    for text in ("rank 0", "the store of process group '0' cannot be reached"):
        with pytest.raises(PeerFailedError, match=text):
            works(rank)


def test_a_killed_rank_that_held_the_store():
    with Ranks(2, tcp=True) as ranks:
        ranks.run(killed_with_the_store, may_end={0})


def backward_alone(rank):
    works(rank)  # from here on they come together
    x = torch.ones(2, K, requires_grad=True)
    [out] = cmt.all_gather_matmul(x, [torch.ones(K, 3)], deadline_seconds=2)[1]
    if rank == 0:
        begin = time.monotonic()
        with pytest.raises(PeerFailedError, match="the gradient's sum over the ranks failed"):
            out.sum().backward()
        assert time.monotonic() - begin < 20


def test_a_rank_alone_in_the_backward_pass():
    with Ranks(2) as ranks:
        ranks.run(backward_alone)


def out_of_step(rank):
    """Rank 0 fails in a call that succeeds on rank 1."""
    works(rank)
    if rank == 0:
        multiply = _core.all_gather_matmul

        def interrupted(*args):
            multiply(*args)
            raise KeyboardInterrupt("by hand")

        _core.all_gather_matmul = interrupted
        with pytest.raises(KeyboardInterrupt):
            works(rank)
        _core.all_gather_matmul = multiply
    else:
        works(rank)
        text = "rank 0 has left the mesh: by hand"
        with pytest.raises((PeerFailedError, MeshDeadError), match=text):
            works(rank)
    for text in ("call 3 and rank 1 call 4", "call 4 and rank 1 call 5"):
        with pytest.raises(InvalidArgumentError, match="out of step .* rank 0 makes " + text):
            works(rank)
    group = dist.new_group([0, 1])
    [out] = cmt.all_gather_matmul(torch.ones(2, K), [torch.ones(K, 3)], group)[1]
    assert out.shape == (4, 3)


def one_rank_changes_its_arguments(rank):
    x, w = torch.ones(2, K), torch.ones(K, 3)
    # May differ between the ranks: none has a plan yet, so all make one.
    cmt.all_gather_matmul(x, [w], deadline_seconds=10.0 + rank)
    alike = {"deadline_seconds": 30.0, "threads": 1}
    for name, value in (("deadline_seconds", 20.0), ("threads", 2)):
        cmt.all_gather_matmul(x, [w], **alike)
        text = f"rank 0 calls with {name}={alike[name]}; rank 1 calls with {name}={value}"
        with pytest.raises(InvalidArgumentError, match=f"order of calls.*{text}.*together"):
            cmt.all_gather_matmul(x, [w], **alike | ({name: value} if rank == 1 else {}))
        ranks, meeting = cmt.ranks_of("0"), cmt._group._meetings["0"]
        said = [f"{meeting}/call/{rank}"]
        assert ranks._store.check(said)
        works(rank)
        assert not ranks._store.check(said)  # which else would grow with each failure


def test_a_rank_that_changes_its_arguments_alone_is_told_which():
    with Ranks(2) as ranks:
        ranks.run(one_rank_changes_its_arguments)


def test_ranks_that_are_out_of_step_hear_of_it():
    with Ranks(2) as ranks:
        ranks.run(out_of_step)


def on_two_hosts(rank):
    host = cmt._group._host
    cmt._group._host = lambda: [*host()[:1], f"net {rank}", ""]
    refuses("rank 1 .* another host .* mpirun", torch.ones(2, K), [torch.ones(K, 3)],
            kind=UnsupportedError)
    cmt._group._host = host
    works(rank)


def test_ranks_on_two_hosts_are_refused():
    with Ranks(2) as ranks:
        ranks.run(on_two_hosts)


def busy(rank):
    works(rank)
    if rank == 0:
        waiting = threading.Thread(target=works, args=(rank,))
        waiting.start()
        ranks = cmt._group.ranks_of(cmt.name_of(None))
        while not ranks._lock.locked():
            time.sleep(0.001)
        refuses("rank 0 of process group '0' is in a call already", torch.ones(2, K),
                [torch.ones(K, 3)], kind=BusyError)
        dist.barrier()
        waiting.join()
    else:
        dist.barrier()
        works(rank)
    works(rank)


def test_one_call_at_a_time(two):
    two.run(busy)


def held():
    gc.collect()
    with open("/proc/self/maps") as file:
        maps = sum("memfd" in line for line in file)
    return {"fds": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
            "maps": maps}


def again_and_again(rank, folder):
    dist.destroy_process_group()
    with pytest.raises(InvalidArgumentError, match="init_process_group"):
        works(rank)
    after = []
    for turn in range(4):
        before = held()
        dist.init_process_group(
            "gloo", init_method=f"file://{folder}/{turn}", rank=rank, world_size=2
        )
        works(rank)
        for threads in (1, 3):
            cmt.all_gather_matmul(torch.ones(40, K), [torch.ones(K, 3)], threads=threads)
        group = dist.new_group([0, 1])
        cmt.all_gather_matmul(torch.ones(2, K), [torch.ones(K, 3)], group)
        during = held()
        assert all(during[kind] > before[kind] for kind in before), (before, during)
        if turn == 1:
            refuses("swiglu", torch.ones(2, K), [torch.ones(K, 3)], swiglu=True)
        del group
        dist.destroy_process_group()
        after.append(held())
    assert after[1:] == after[:1] * 3, after


def test_nothing_is_held_after_the_groups_are_destroyed(tmp_path):
    with Ranks(2) as ranks:
        ranks.run(again_and_again, str(tmp_path))


def test_a_process_may_end_without_destroying_its_group(tmp_path):
    body = f"""
import torch, torch.distributed as dist, collective_matmul.torch as cmt
dist.init_process_group("gloo", init_method="file://{tmp_path}/store", rank=0, world_size=1)
x = cmt.empty(2, 4)
packed = cmt.pack(torch.ones(4, 3))
print(cmt.all_gather_matmul(x.fill_(1), [torch.ones(4, 3), packed], threads=3)[1][1].sum().item())
"""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", body], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (0, "24.0\n"), ended.stderr
    assert "nanobind" not in ended.stderr

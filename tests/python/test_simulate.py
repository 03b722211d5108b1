"""Simulations and verdicts from Python: the tool's figures, timelines, errors."""

import doctest
import html
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import collective_matmul.numpy as cmm
from collective_matmul import InvalidArgumentError, UnsupportedError, tpu


def tool(*arguments):
    path = os.environ.get("CMM_TOOL", "")
    if not os.access(path, os.X_OK):
        pytest.skip("the tool cmm is not built")
    done = subprocess.run([path, *arguments, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "options, flags",
    [
        ({}, []),
        (
            {"hosts": 2, "algorithm": "ring", "bytes_per_second": 5e9, "latency_seconds": 1e-5},
            ["--hosts", "2", "--algorithm", "ring", "--link-gbit", "40", "--link-us", "10"],
        ),
        ({"chip": "v5p", "dtype": "f32"}, ["--chip", "v5p", "--dtype", "f32"]),
        ({"chip": "v6e", "slice": (2, 4), "pieces": 2}, ["--chip", "v6e", "--slice", "2x4",
                                                         "--pieces", "2"]),
    ],
)
def test_ranks_take_what_the_tool_says(options, flags):
    it = cmm.simulate(m=500, k=4096, n=9001, ranks=8, **options)
    expected = tool("simulate", "--m", "500", "--k", "4096", "--n", "9001", *flags)
    assert it.bound.seconds == expected["bound_seconds"]
    for name in [field.name for field in fields(it) if field.name not in ("bound", "links")]:
        if name != "timeline":
            assert getattr(it, name) == expected[name], name
    assert [link.name for link in it.links] == [link["name"] for link in expected["links"]]
    idle = (it.idle_transfer_seconds, it.idle_latency_seconds, it.idle_upstream_seconds,
            it.idle_slot_seconds)
    assert it.multiply_seconds + sum(idle) == pytest.approx(it.seconds)
    assert it.timeline is None and f"algorithm  {it.algorithm}" in str(it)


@pytest.mark.parametrize(
    "options, flags",
    [
        ({}, []),
        ({"devices": (2, 4), "axis": 1, "dtype": "int8"}, ["--mesh", "2x4", "--axis", "1",
                                                           "--dtype", "int8"]),
        ({"chip": "v5e", "schedule": "sequential", "rhs_transpose": True},
         ["--chip", "v5e", "--schedule", "sequential", "--transpose-y"]),
        ({"n": [8192, 1024], "num_candidates": 20, "gathered": True},
         ["--n", "8192,1024", "--search", "20", "--gathered"]),
    ],
)
def test_kernels_take_what_the_tool_says(options, flags):
    it = tpu.simulate(**{"m": 512, "k": 2048, "n": 8192, **options})
    flags = ["--m", "512", "--k", "2048"] + ([] if "--n" in flags else ["--n", "8192"]) + flags
    expected = tool("tpu", "simulate", *flags)
    assert (it.chosen, it.bound.seconds) == (expected["chosen"], expected["bound_seconds"])
    assert len(it.kernels) == len(expected["kernels"])
    for kernel in expected["kernels"]:
        for name, value in kernel.items():
            assert getattr(it.kernels[kernel["schedule"]], name) == value, name
    assert it.seconds == it.kernels[it.chosen].seconds and it.timeline is None
    assert {f"{name}_refused": why for name, why in it.refused.items()} == {
        key: why for key, why in expected.items() if key.endswith("_refused")
    }
    assert "chosen" in str(it)


def test_timelines(tmp_path):
    rank = cmm.simulate(m=64, k=64, n=64, ranks=3, timeline=True).timeline
    kernel = tpu.simulate(
        m=64, k=256, n=1024, devices=4, schedule="wavefront", timeline=True
    ).timeline
    for timeline in (rank, kernel):
        page = timeline.html()
        frame = timeline._repr_html_()
        # The whole page stands in the attribute, and nothing of it outside.
        source = frame.split('srcdoc="')[1].split('"')[0]
        assert html.unescape(source) == page and page.startswith("<!")
        timeline.save(tmp_path / "t.html")
        timeline.save(str(tmp_path / "t.json"))
        assert (tmp_path / "t.html").read_text() == page
        events = json.loads((tmp_path / "t.json").read_text())
        assert len(events["traceEvents"]) > 10
        with pytest.raises(InvalidArgumentError, match="must end in .html"):
            timeline.save(tmp_path / "t.png")
    assert repr(kernel) == "<Timeline 'wavefront on 4 x v6e'>"


def test_verdicts():
    problem = {"m": 64, "k": 256, "n": 1024, "devices": 4}
    good = tpu.verify(**problem, num_interleavings=4)
    assert good and good.right and good.num_runs >= 4 and not good.fault
    assert str(good).startswith("RIGHT: all_gather_matmul_wavefront")
    again = tpu.verify(**problem, parameters=good.parameters, num_interleavings=0)
    assert again and again.kernel == good.kernel
    bad = tpu.verify(**problem, mutant=0)
    assert not bad and bad.mutant and bad.fault in str(bad) and bad.run in str(bad)
    reference = tpu.verify(**problem, schedule="reference", num_interleavings=1)
    assert reference and reference.schedule == "reference"


def test_what_cannot_be_right_is_refused():
    assert "v6e" in tpu.chips()
    problem = {"m": 64, "k": 64, "n": 64}
    for options, message in [
        ({"ranks": 0}, "0"),
        ({"ranks": 4, "dtype": "int8"}, "dtype is int8"),
        ({"ranks": 4, "slice": (2, 2)}, "needs a chip"),
        ({"ranks": 4, "chip": "v6e", "rank_flops": 1e9}, "rank_flops: of hosts"),
        ({"ranks": 4, "chip": "v9"}, "v9"),
        ({"ranks": 4, "hosts": 8}, "8"),
        ({"ranks": 4, "algorithm": "star"}, "star"),
        ({"ranks": 4, "latency_seconds": float("inf")}, "both finite"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            cmm.simulate(**problem, **options)
    with pytest.raises(InvalidArgumentError, match="v9"):
        tpu.simulate(**problem, chip="v9")
    for options in (
        {"bn": -1},
        {"bk": -5},
        {"copy_bytes_per_second": -1},
        {"copy_bytes_per_second": float("nan")},
        {"num_candidates": -1},
    ):
        with pytest.raises(InvalidArgumentError, match=f"{next(iter(options))} is "):
            tpu.simulate(**problem, **options)
    with pytest.raises(InvalidArgumentError, match="num_interleavings is -1"):
        tpu.verify(**problem, num_interleavings=-1)
    with pytest.raises(InvalidArgumentError, match="complex64"):
        tpu.verify(**problem, dtype="complex64")
    with pytest.raises(UnsupportedError, match="m"):
        tpu.simulate(m=7, k=64, n=64, schedule="reference")


def test_the_output_in_the_documentation():
    page = Path(__file__).parents[2] / "docs/python.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, globs={"cmm": cmm})
    assert tried > 0 and failed == 0


def test_extents_of_numpy_are_taken():
    given = {"m": 256, "k": 1024, "n": 8192, "devices": 8}
    of_numpy = {name: np.int64(extent) for name, extent in given.items()}
    assert cmm.tpu.simulate(**of_numpy).seconds == cmm.tpu.simulate(**given).seconds


# What is in a module goes while the interpreter ends, and takes its time here.
ENDS_DURING_CALLS = """
import threading, time
import collective_matmul.numpy as cmm
import collective_matmul.tpu as tpu

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)

late = Late()
begun = threading.Barrier(5)

def repeat(function, **arguments):
    function(**arguments)
    begun.wait()
    while True:
        function(**arguments)

shape = dict(m=256, k=512, n=512)
for function, arguments in (
    (cmm.simulate, dict(shape, ranks=8)),
    (cmm.simulate, dict(shape, ranks=8, chip="v6e")),
    (tpu.simulate, dict(m=256, k=512, n=2048, devices=4)),
    (tpu.verify, dict(m=32, k=128, n=256, devices=2, num_interleavings=1)),
):
    threading.Thread(target=repeat, args=(function,), kwargs=arguments, daemon=True).start()
begun.wait()
"""


def test_a_program_may_end_while_its_daemons_simulate():
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_DURING_CALLS], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")

"""The benchmarks of bench/python run and write their figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import collective_matmul

ROOT = Path(__file__).parents[2]
# The package of a build tree lies in its folder python/collective_matmul.
BENCH = Path(collective_matmul.__file__).parents[2] / "bench"


def test_overhead(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench/python/overhead.py"), str(BENCH / "bench_wait"),
         "--rounds", "1", "--json", str(tmp_path / "figures.json")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "figures.json").read_text())["overhead"]
    assert [row["num_ranks"] for row in rows] == [1, 2] and len(done.stdout.splitlines()) == 2
    for row in rows:
        assert 0 < row["cpp_us"] and 0 < row["python_us"]
        assert row["least_us"] <= row["overhead_us"] <= row["most_us"]


def test_jax_on_cpu_devices(tmp_path):
    pytest.importorskip("jax")
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench/python/jax_cpu.py"), "--quick", "--devices", "2"]
        + ["--k", "64", "--n", "64", "--dtype", "f32", "--rounds", "2", "--json", str(figures)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads(figures.read_text())) == len(done.stdout.splitlines()) > 1

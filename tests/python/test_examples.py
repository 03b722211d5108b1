"""The programs of examples/python, each with random weights and with those of a real model."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "build/weights/model.safetensors"


EXAMPLES = {"mlp_numpy.py": "numpy", "mlp_jax.py": "jax", "mlp_torch.py": "torch"}


def run(example, *arguments):
    if importlib.util.find_spec(EXAMPLES[example]) is None:
        pytest.skip(f"{EXAMPLES[example]} is not installed")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/python" / example), *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_with_random_weights(example):
    assert "random weights" in run(example)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_with_a_real_model(example):
    if not WEIGHTS.exists():
        pytest.skip("tools/fetch_weights has not fetched the weights of all-MiniLM-L6-v2")
    assert "weights of all-MiniLM-L6-v2: " in run(example, str(WEIGHTS))

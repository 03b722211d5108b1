"""Weights of a real model for the examples (all-MiniLM-L6-v2, as tools/fetch_weights fetches it), and
the layers of the unsharded model."""

import json
import math
import sys

import numpy as np

WIDTH, INNER, VOCABULARY, LAYERS = 384, 1536, 30522, 6


class Weights:
    """Arrays by the names of the file: float32, of a linear layer [n, k], as PyTorch stores it."""

    def __init__(self, path: str | None) -> None:
        """path: model.safetensors; None: random weights of the same shapes."""
        self.real = path is not None
        self._file = np.memmap(path, np.uint8, "r") if path else None
        self._random = np.random.default_rng(0)
        if self._file is not None:
            size = int(self._file[:8].view(np.uint64)[0])
            self._header = json.loads(self._file[8 : 8 + size].tobytes())
            self._data = self._file[8 + size :]

    def get(self, name: str, *shape: int) -> np.ndarray:
        if not self.real:
            return self._random.standard_normal(shape, np.float32) / 20
        entry = self._header[name]
        assert entry["dtype"] == "F32" and tuple(entry["shape"]) == shape, (name, entry)
        begin, end = entry["data_offsets"]
        return np.frombuffer(self._data[begin:end].tobytes(), np.float32).reshape(shape)

    def tokens(self, count: int) -> np.ndarray:
        """Embeddings of the first tokens of the vocabulary, [count, WIDTH]."""
        name = "embeddings.word_embeddings.weight"
        shape = (VOCABULARY if self.real else count, WIDTH)
        return self.get(name, *shape)[:count]

    def dense(self, layer: int, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Weight [n, k] and bias [n] of "intermediate" (n = INNER) or "output" (n = WIDTH)."""
        n, k = (INNER, WIDTH) if part == "intermediate" else (WIDTH, INNER)
        name = f"encoder.layer.{layer}.{part}.dense"
        return self.get(f"{name}.weight", n, k), self.get(f"{name}.bias", n)


def weights_of_arguments() -> Weights:
    """Of the file that the command line names, if it does."""
    if len(sys.argv) > 1:
        print(f"weights of all-MiniLM-L6-v2: {sys.argv[1]}")
        return Weights(sys.argv[1])
    print("random weights of all-MiniLM-L6-v2's shapes; `tools/fetch_weights build/weights` fetches")
    print("the real ones, whose path is the argument of this program")
    return Weights(None)


def linear(v: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Of the unsharded model, in float64: v [m, k], weight [n, k], bias [n]."""
    return v @ weight.T.astype(np.float64) + bias


def gelu(v: np.ndarray) -> np.ndarray:
    return v / 2 * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))


def silu(v: np.ndarray) -> np.ndarray:
    return v / (1 + np.exp(-v))


def report(what: str, out: np.ndarray, exact: np.ndarray, tolerance: float) -> None:
    """Prints how far a result is from the unsharded model's, and ends the program where too far."""
    error = np.abs(out - exact).max() / np.abs(exact).max()
    print(f"{what}: {out.shape}, largest error {error:.1e} of the largest element")
    if not error < tolerance:
        sys.exit(f"{what} differs from the unsharded model by more than {tolerance:.0e}")

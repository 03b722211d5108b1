"""What a call costs from Python beyond the same call in C++: a product so small that little else is
left, back to back, each call timed by itself, rank r kept to core r. Both take turns.

usage: overhead.py BENCH_WAIT [--rounds N] [--json FILE]
    BENCH_WAIT: build/release/bench/bench_wait, which measures the calls in C++
    (with PYTHONPATH=build/release/python and the Python of build/python)
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import collective_matmul.numpy as cmm
import numpy as np

ROWS, COLS = 4, 1024  # of x; one column of y: as bench_wait has them
CALLS = 3000


def seconds_in_cpp(bench_wait: str, ranks: int) -> float:
    """Median of rank 0's calls."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run(
            [bench_wait, "--ranks", str(ranks), "--json", file.name],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        rows = json.load(file)["waiting"]
    (row,) = [row for row in rows if row["ranks"] == "threads"]
    return row["product"]["median"]


def seconds_in_python(ranks: int) -> float:
    """Median of rank 0's calls."""
    cores = sorted(os.sched_getaffinity(0))

    def body(mesh: cmm.Mesh) -> float:
        os.sched_setaffinity(0, [cores[mesh.rank % len(cores)]])  # of this thread
        call = cmm.plan(mesh.axis(), m=ROWS, k=COLS, n_local=1)
        weights = cmm.Weights.pack(np.ones((COLS, 1), np.float32))
        x_local = np.ones((call.rows_of(mesh.rank), COLS), np.float32)
        out = np.empty((ROWS, 1), np.float32)
        seconds = []
        for _ in range(CALLS):
            begin = time.perf_counter()
            call(x_local, weights, out)
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)

    return cmm.run_ranks(ranks, body)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="Overhead of a call from Python over C++")
    parser.add_argument("bench_wait")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    rows = []
    for ranks in (1, 2):
        cpp, python = [], []
        for _ in range(options.rounds):
            cpp.append(1e6 * seconds_in_cpp(options.bench_wait, ranks))
            python.append(1e6 * seconds_in_python(ranks))
        more = sorted(p - c for p, c in zip(python, cpp))
        rows.append(
            {
                "num_ranks": ranks,
                "cpp_us": statistics.median(cpp),
                "python_us": statistics.median(python),
                "overhead_us": statistics.median(more),
                "least_us": more[0],
                "most_us": more[-1],
            }
        )
        print(
            "P {num_ranks}: a call takes {cpp_us:.2f} us in C++, {python_us:.2f} us from Python; "
            "overhead {overhead_us:.2f} us ({least_us:.2f} to {most_us:.2f})".format(**rows[-1]),
            flush=True,
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"overhead": rows, "load": os.getloadavg()[0]}, file, indent=2)


if __name__ == "__main__":
    main()

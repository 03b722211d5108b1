"""collective_matmul.jax on CPU devices against JAX's own ways: the product of sharded matrices as
jit and XLA's partitioner make it (einsum), and all_gather then dot in a shard_map (shard_map).

usage: jax_cpu.py [--quick] [--devices N ...] [--m M ...] [--dtype f32|bf16 ...] [--transposed] [--json FILE]

Each round times all contenders in turn, each call waited for; the figures are medians and quartiles
of the rounds, the ratios those of the medians. One process per number of devices, with two threads
of JAX's CPU client per device. In brackets is what the process's threads spend of the cores' time,
which other programs on the host disturb less. The overhead is the time of a call on matrices of a few elements less
that of adding 1 to one of them in the same shard_map.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

SAMPLE_SECONDS = 20e-3
OURS, OPPONENTS = "ours", ("einsum", "shard_map")


def parse(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--m", type=int, nargs="+", default=[1, 16, 64, 256, 1024])
    parser.add_argument("--quick", action="store_const", dest="m", const=[1, 16, 256])
    parser.add_argument("--k", type=int, default=4096)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--dtype", nargs="+", default=["f32", "bf16"], choices=["f32", "bf16"])
    parser.add_argument("--transposed", action="store_true", help="y is [n, k]")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def seconds_of(calls, call):
    """Of one call: that pass, and of all cores."""
    begin, cpu_begin = time.perf_counter(), time.process_time()
    for _ in range(calls):
        call().block_until_ready()
    return (time.perf_counter() - begin) / calls, (time.process_time() - cpu_begin) / calls


def summary(values):
    low, median, high = statistics.quantiles([wall for wall, _ in values], n=4)
    cpu = statistics.median(cpu for _, cpu in values)
    return {"median": median, "low_quartile": low, "high_quartile": high, "cpu_median": cpu}


def time_in_turns(calls, rounds):
    """Name -> summary of the seconds of one call."""
    seconds, counts = {name: [] for name in calls}, {}
    for name, call in calls.items():
        seconds_of(2, call)  # compiles
        counts[name] = max(1, math.ceil(SAMPLE_SECONDS / seconds_of(2, call)[0]))
    for _ in range(rounds):
        for name, call in calls.items():
            seconds[name].append(seconds_of(counts[name], call))
    return {name: summary(values) for name, values in seconds.items()}


def measure(options):
    """The child: one number of devices; yields a row per line of the table."""
    import collective_matmul.jax as cm
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    num_devices = options.devices[0]
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("tp",))
    rows, columns = NamedSharding(mesh, P("tp", None)), NamedSharding(mesh, P(None, "tp"))
    of_y = rows if options.transposed else columns

    def mapped(local):
        specs = {"in_specs": (P("tp", None), of_y.spec), "out_specs": P(None, "tp")}
        return jax.jit(jax.shard_map(local, mesh=mesh, check_vma=False, **specs))

    def einsum(x, y):
        indices = "mk,nk->mn" if options.transposed else "mk,kn->mn"
        return jnp.einsum(indices, x, y, preferred_element_type=jnp.float32).astype(x.dtype)

    def gather_then_dot(x, y):
        return einsum(jax.lax.all_gather(x, "tp", axis=0, tiled=True), y)

    def ours(x, y):
        return cm.all_gather_matmul(x, y, mesh, "tp", rhs_transpose=options.transposed)

    functions = {
        OURS: jax.jit(ours),
        "einsum": jax.jit(einsum, out_shardings=columns),
        "shard_map": mapped(gather_then_dot),
    }
    generator = np.random.default_rng(0)

    def matrix(shape, dtype, sharding):
        values = generator.random(shape, dtype=np.float32) - np.float32(0.5)
        return jax.device_put(values.astype(dtype), sharding)

    def y_shape(k, n):
        return (n, k) if options.transposed else (k, n)

    for name in options.dtype:
        dtype = {"f32": jnp.float32, "bf16": jnp.bfloat16}[name]
        y = matrix(y_shape(options.k, options.n), dtype, of_y)
        for m in options.m:
            # JAX shards equal parts only: a device has one row at least.
            m = math.ceil(m / num_devices) * num_devices
            x = matrix((m, options.k), dtype, rows)
            calls = {key: lambda f=f: f(x, y) for key, f in functions.items()}
            row = {"num_devices": num_devices, "dtype": name, "m": m, "k": options.k}
            row |= {"n": options.n, "transposed": options.transposed}
            yield row | {"seconds": time_in_turns(calls, options.rounds)}
    x = matrix((num_devices, 16), jnp.float32, rows)
    y = matrix(y_shape(16, 8 * num_devices), jnp.float32, of_y)
    add = mapped(lambda x, y: (y.T if options.transposed else y) + 1.0)
    calls = {OURS: lambda: functions[OURS](x, y), "add": lambda: add(x, y)}
    calls["shard_map"] = lambda: functions["shard_map"](x, y)
    yield {"num_devices": num_devices, "tiny": time_in_turns(calls, 3 * options.rounds)}


def text_of(name, seconds, unit):
    low, median, high, cpu = (
        seconds[key] * unit for key in ("low_quartile", "median", "high_quartile", "cpu_median")
    )
    return f"{name} {median:.3f} ({low:.3f} .. {high:.3f}) [{cpu:.3f}]"


def line_of(row):
    start = f"{row['num_devices']} devices"
    if "tiny" in row:
        overhead = row["tiny"][OURS]["median"] - row["tiny"]["add"]["median"]
        parts = [text_of(name, seconds, 1e6) for name, seconds in row["tiny"].items()]
        return f"{start}  tiny, us: {'   '.join(parts)}   overhead {1e6 * overhead:.1f}"
    seconds = row["seconds"]
    parts = [text_of(OURS, seconds[OURS], 1e3)]
    for name in OPPONENTS:
        ratio, cpu_ratio = (
            seconds[name][key] / seconds[OURS][key] for key in ("median", "cpu_median")
        )
        parts.append(f"{text_of(name, seconds[name], 1e3)} {ratio:.2f}x [{cpu_ratio:.2f}x]")
    return f"{start}  {row['dtype']:4} m {row['m']:4}, ms: {'   '.join(parts)}"


def run_child(options, num_devices):
    """Starts a process with that many devices and yields its rows."""
    arguments = ["--child", "--devices", str(num_devices), "--rounds", str(options.rounds)]
    arguments += ["--k", str(options.k), "--n", str(options.n)]
    arguments += ["--transposed"] * options.transposed
    arguments += ["--m", *map(str, options.m), "--dtype", *options.dtype]
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={num_devices}",
    }
    command = [sys.executable, os.path.abspath(__file__), *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            yield json.loads(line)
    if child.returncode != 0:
        sys.exit(child.returncode)


def main():
    options = parse()
    if options.child:
        for row in measure(options):
            print(json.dumps(row), flush=True)
        return
    rows = []
    for num_devices in options.devices:
        for row in run_child(options, num_devices):
            rows.append(row)
            print(line_of(row), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()

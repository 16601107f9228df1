"""Measure our forward pass and training step, all variants in interleaved rounds in one process.

python -m benchmarks.training step --config C
python -m benchmarks.training step --config B --weights bfloat16
"""

from __future__ import annotations

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.training import network
from benchmarks.training.rounds import interleave, summary
from benchmarks.training.workload import CONFIGS, draw


def measure(
    name: str, variants: list[str], types: list[str], threads: int, seconds: float
) -> list[Row]:
    """Return a row per variant and weight type; ratios are to the first row, within one run."""
    work = draw(CONFIGS[name])
    programs = {
        (variant, dtype): network.build(work, variant, threads, dtype)
        for variant in variants
        for dtype in types
    }
    rows: list[Row] = [
        {"config": name, "variant": variant, "weights": dtype, "threads": threads}
        for variant, dtype in programs
    ]
    for what in ("forward", "train"):
        steps = {str(key): getattr(program, what) for key, program in programs.items()}
        times = interleave(steps, seconds * len(steps))
        baseline = summary(next(iter(times.values())))["ms"]
        for row, samples in zip(rows, times.values(), strict=True):
            found = summary(samples)
            row |= {f"{what}_{key}": found[key] for key in ("ms", "q1_ms", "q3_ms")}
            row[f"{what}_speedup"] = baseline / found["ms"]
    for row in rows:
        row["samples_per_s"] = 1e3 * work.config.batch / row["train_ms"]
    return rows


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("training step", __doc__)
    parser.add_argument("--config", choices=sorted(CONFIGS), action="append", help="default: A, B")
    parser.add_argument("--variant", choices=network.SECOND_THRESHOLD, action="append")
    parser.add_argument(
        "--weights", choices=("bfloat16",), help="also measure weights of this type"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="per variant and pass")
    options = parser.parse_args(arguments)
    network.limit_tensorflow_threads()
    types = ["float32", *([options.weights] if options.weights else [])]
    rows = []
    for name in options.config or ["A", "B"]:
        variants = options.variant or list(network.SECOND_THRESHOLD)
        rows += measure(name, variants, types, options.threads, options.seconds)
    finish(rows, options.output)

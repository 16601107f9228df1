"""Prove the Poplar op at full size: 2 x 1466 neurons on 1,472 tiles per IPU.

    python -m benchmarks.emulator proof
    python -m benchmarks.emulator proof --only "policy cyclic"

Weights are k / 64 and decays 1/2, so that float32 sums are exact: spikes, slots and membranes must
equal the float64 reference to the bit, and be the same on any number of IPUs. Gradients contain
rounded surrogates: for the same spikes they must differ from the reference by less than 1e-5 of the
largest. The command fails where they do not.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.common import command_line
from benchmarks.common.processes import in_fresh_process
from benchmarks.common.tables import Row, finish
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.arrays import PoplarLIF, PoplarRun
from ipulse_ops.lif.poplar.attributes import Placement, Wanted
from ipulse_ops.lif.poplar.tile_plan import tile_plan
from ipulse_ops.lif.reference import network_pass as reference
from ipulse_ops.lif.reference.trace import Gradients, Trace
from ipulse_ops.lif.weights import weight_shapes

INPUTS, NEURONS, CLASSES = 2312, 1466, 10
SLOTS, INPUT_SLOTS = 73, 115  # 5 %
STEPS, BATCH = 6, 9  # two rounds of six workers, the second one not full
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Case:
    """A network, and the numbers of IPUs it runs on with split=layers and split=neurons."""

    layer: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    wanted: Wanted = Wanted()  # noqa: RUF009 (frozen)
    hidden: int = 2
    ipus: tuple[int, ...] = (1,)
    neurons: tuple[int, ...] = (2,)

    def runs(self) -> list[tuple[str, int]]:
        """Return split and number of IPUs of every run."""
        return [("layers", n) for n in self.ipus] + [("neurons", n) for n in self.neurons]

    def build(self) -> Network:
        """Return the network."""
        layer = LIF(NEURONS, 0.5, second_threshold=0.5, capacity=SLOTS, gain=2.0, **self.layer)
        readout = LeakyReadout(CLASSES, 0.5, gain=2.0)
        return Network(INPUTS, (layer,) * self.hidden, readout, **{"delay": 1, **self.network})


ALL = Wanted(membranes=True, input_gradients=True, constant_gradients=True)
CASES = {
    "delay 1": Case(ipus=(1, 2), neurons=(2, 4)),
    "delay 0": Case(network={"delay": 0}, ipus=(1, 2)),
    "three hidden layers": Case(hidden=3, ipus=(1, 2, 4), neurons=(4,)),
    "recurrent, synapse, bias": Case(
        layer={"recurrent": True, "synapse_decay": 0.5, "bias": True},
        network={"reset_gradient": "none"},
        ipus=(1, 2),
    ),
    "reset subtract on emission, all gradients": Case(
        network={"reset": "subtract", "reset_on": "emission", "reset_gradient": "none"},
        wanted=ALL,
    ),
    "no reset, policy top": Case(layer={"policy": "top"}, network={"reset": "none"}, neurons=()),
    "policy cyclic": Case(layer={"policy": "cyclic"}, ipus=(1, 2)),
}


@dataclass(frozen=True)
class Problem:
    """Weights, input spikes, and the gradients of the loss."""

    weights: list[np.ndarray]
    ids: np.ndarray
    counts: np.ndarray
    loss: tuple[Any, ...]  # for the readout, the slots and the membranes of every layer


def problem(case: Case, network: Network) -> Problem:
    """Draw the problem: the same in every process."""
    rng = np.random.default_rng(0)
    weights = [
        (rng.integers(-16, 17, shape.shape) / 64).astype(np.float32)
        for shape in weight_shapes(network)
    ]
    order = np.argsort(rng.random((STEPS, BATCH, INPUTS), np.float32), axis=2)
    ids = np.sort(order[..., :INPUT_SLOTS], axis=2).astype(np.int32)
    counts = rng.integers(INPUT_SLOTS // 2, INPUT_SLOTS + 1, (STEPS, BATCH)).astype(np.int32)

    def normal(*width: int) -> list[np.ndarray]:
        return [rng.standard_normal((STEPS, BATCH, n)).astype(np.float32) for n in width]

    by_u = normal(*[NEURONS] * case.hidden) if case.wanted.membranes else None
    return Problem(weights, ids, counts, (*normal(CLASSES), normal(*[SLOTS] * case.hidden), by_u))


def prove(name: str, split: str, ipus: int) -> tuple[Row, str]:
    """Return the row of a run and the hash of its forward results.

    Raises AssertionError where op and reference differ.
    """
    case = CASES[name]
    network = case.build()
    p = problem(case, network)
    placement = Placement(ipus=ipus, split=split)
    trace = reference.forward(network, p.weights, p.ids, p.counts, seed=3)
    start = time.perf_counter()
    with PoplarLIF(network, STEPS, BATCH, INPUT_SLOTS, placement, case.wanted) as op:
        run = op.forward(p.weights, p.ids, p.counts, seed=3)
        crossing = [_between_ipus(op, STEPS)]
        found = op.backward(*p.loss)
        crossing.append(_between_ipus(op, STEPS + network.delay, crossing[0] * (not network.delay)))
        profile = op.op.profile()
    _assert_bit_equal(run, trace)
    expected = reference.backward(network, p.weights, p.ids, p.counts, trace, *p.loss)
    error = _gradient_error(found, expected, case.wanted)
    assert error < TOLERANCE, f"{name}: gradients differ by {error}"
    tiles = [tile["memory"]["total"]["includingGaps"] for tile in profile["compilation"]["tiles"]]
    row = {
        "case": name,
        "split": split,
        "ipus": ipus,
        "spikes": _rounded(layer.spike_counts[..., 0].mean() for layer in run.layers),
        "dropped": _rounded(layer.dropped.mean() for layer in run.layers),
        "gradient_error": error,
        "bytes_forward": crossing[0],
        "bytes_backward": crossing[1],
        "load_balance": tile_plan(network, BATCH, INPUT_SLOTS, placement)["load_balance"],
        "fullest_tile_bytes": max(tiles),
        "seconds": time.perf_counter() - start,
    }
    return row, _sha256(run)


def _rounded(figures: Iterable[float]) -> str:
    return " ".join(f"{figure:.0f}" for figure in figures)


def _between_ipus(op: PoplarLIF, turns: int, before: float = 0) -> float:
    """Return the bytes between IPUs per turn of the time loop that ran `turns` times."""
    totals = op.op.profile()["execution"]["totals"]
    loop = [total for total in totals if total["executions"] == turns]
    return sum(int(total["bytesBetweenIpus"]) for total in loop) / turns - before


def _assert_bit_equal(run: PoplarRun, trace: Trace) -> None:
    np.testing.assert_array_equal(run.membrane, trace.membrane)
    for actual, right in zip(run.layers, trace.layers, strict=True):
        np.testing.assert_array_equal(actual.spike_counts, right.spike_counts)
        np.testing.assert_array_equal(actual.spike_ids, right.spike_ids)
        np.testing.assert_array_equal(actual.dropped, right.dropped)
        if actual.membrane is not None:
            np.testing.assert_array_equal(actual.membrane, right.u)


def _gradient_error(found: Gradients, expected: Gradients, wanted: Wanted) -> float:
    """Return the largest difference of a gradient, relative to its own largest value."""
    pairs: list[tuple[Any, Any]] = list(zip(found.weights, expected.weights, strict=True))
    if wanted.input_gradients:
        pairs.append((found.inputs, expected.inputs))
    if wanted.constant_gradients:
        for actual, right in zip(found.constants, expected.constants, strict=True):
            pairs += [(getattr(actual, name), by) for name, by in vars(right).items()]
    return max(
        float(np.abs(actual - right).max() / np.abs(right).max())
        for actual, right in pairs
        if right is not None
    )


def _sha256(run: PoplarRun) -> str:
    arrays = [run.membrane]
    for layer in run.layers:
        arrays += [array for array in layer if array is not None]
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("emulator proof", __doc__)
    parser.add_argument("--only", choices=CASES, metavar="CASE", help=", ".join(CASES))
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for name in [options.only] if options.only else CASES:
        hashes = set()
        for split, ipus in CASES[name].runs():
            row, digest = in_fresh_process(prove, name, split, ipus)
            rows.append(row)
            hashes.add(digest)
            print(f"{name}: proved on {ipus} IPUs by {split}", file=sys.stderr, flush=True)
        assert len(hashes) == 1, f"{name}: results differ between numbers of IPUs"
    finish(rows, options.output)

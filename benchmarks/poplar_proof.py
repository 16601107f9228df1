"""The Poplar op at full size beside the float64 reference: 2 x 1466 neurons on 1,472 tiles an IPU.

python -m benchmarks.poplar_proof   proves, a process for each case, split and number of IPUs
python -m benchmarks.poplar_report  writes the table into docs/poplar_op.md

Weights are k / 64 and decays 1/2, so that float32 sums are exact: spikes, slots and membranes must
be the reference's to the bit, on any number of IPUs. Gradients have surrogates in them, which are
rounded: they must be the reference's for the same spikes within 1e-5 of the largest. A case that
is not so ends the command with an error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.poplar_op import ROOT, digest
from benchmarks.results import DIRECTORY, Results, Row
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.poplar.arrays import PoplarLIF, Run
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
    """A network, and on how many IPUs it is run: by split=layers, and by split=neurons."""

    layer: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    wanted: Wanted = Wanted()  # noqa: RUF009 (frozen)
    hidden: int = 2
    ipus: tuple[int, ...] = (1,)
    neurons: tuple[int, ...] = (2,)

    def runs(self) -> list[tuple[str, int]]:
        """Split and IPUs of every run."""
        return [("layers", n) for n in self.ipus] + [("neurons", n) for n in self.neurons]

    def build(self) -> Network:
        """The network."""
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
    weights: list[np.ndarray]
    ids: np.ndarray
    counts: np.ndarray
    loss: tuple[Any, ...]  # by the readout's membrane, the slots and the membranes of every layer


def problem(case: Case, network: Network) -> Problem:
    """The same for every process."""
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


def prove(name: str, split: str, ipus: int) -> Row:
    """The row of a case. Raises AssertionError where op and reference differ."""
    case = CASES[name]
    network = case.build()
    p = problem(case, network)
    placement = Placement(ipus=ipus, split=split)
    trace = reference.forward(network, p.weights, p.ids, p.counts, seed=3)
    start = time.perf_counter()
    with PoplarLIF(network, STEPS, BATCH, INPUT_SLOTS, placement, case.wanted) as op:
        compiled = time.perf_counter()
        run = op.forward(p.weights, p.ids, p.counts, seed=3)
        forward = time.perf_counter()
        crossing = [_between_ipus(op, STEPS)]
        found = op.backward(*p.loss)
        backward = time.perf_counter()
        crossing.append(_between_ipus(op, STEPS + network.delay, crossing[0] * (not network.delay)))
        profile = op.op.profile()
    _assert_bit_equal(run, trace)
    judged = reference.backward(network, p.weights, p.ids, p.counts, trace, *p.loss)
    error = _gradient_error(found, judged, case.wanted)
    assert error < TOLERANCE, f"{name}: gradients differ by {error}"
    tiles = [tile["memory"]["total"]["includingGaps"] for tile in profile["compilation"]["tiles"]]
    return {
        "case": name,
        "split": split,
        "ipus": ipus,
        "spikes": [float(layer.spike_counts[..., 0].mean()) for layer in run.layers],
        "dropped": [float(layer.dropped.mean()) for layer in run.layers],
        "gradient_error": error,
        "forward_sha256": _sha256(run),
        "bytes_between_ipus": crossing,
        "load_balance": tile_plan(network, BATCH, INPUT_SLOTS, placement)["load_balance"],
        "fullest_tile_bytes": max(tiles),
        "seconds": [compiled - start, forward - compiled, backward - forward],
    }


def _between_ipus(op: PoplarLIF, turns: int, before: float = 0) -> float:
    """Bytes from IPU to IPU in a turn of the time loop that ran so many times."""
    totals = op.op.profile()["execution"]["totals"]
    loop = [total for total in totals if total["executions"] == turns]
    return sum(int(total["bytesBetweenIpus"]) for total in loop) / turns - before


def _assert_bit_equal(run: Run, trace: Trace) -> None:
    np.testing.assert_array_equal(run.membrane, trace.membrane)
    for ours, theirs in zip(run.layers, trace.layers, strict=True):
        np.testing.assert_array_equal(ours.spike_counts, theirs.spike_counts)
        np.testing.assert_array_equal(ours.spike_ids, theirs.spike_ids)
        np.testing.assert_array_equal(ours.dropped, theirs.dropped)
        if ours.membrane is not None:
            np.testing.assert_array_equal(ours.membrane, theirs.u)


def _gradient_error(found: Gradients, judged: Gradients, wanted: Wanted) -> float:
    """The largest difference of a gradient, of its own largest value."""
    pairs: list[tuple[Any, Any]] = list(zip(found.weights, judged.weights, strict=True))
    if wanted.input_gradients:
        pairs.append((found.inputs, judged.inputs))
    if wanted.constant_gradients:
        for ours, theirs in zip(found.constants, judged.constants, strict=True):
            pairs += [(getattr(ours, name), by) for name, by in vars(theirs).items()]
    return max(
        float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        for ours, theirs in pairs
        if theirs is not None
    )


def _sha256(run: Run) -> str:
    arrays = [run.membrane]
    for layer in run.layers:
        arrays += [array for array in layer if array is not None]
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.poplar_proof", description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("CASE", "SPLIT", "IPUS"), help="print its row")
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(prove(given.one[0], given.one[1], int(given.one[2]))))
        return
    settings = {"op": digest(), "steps": STEPS, "batch": BATCH, "sizes": [INPUTS, NEURONS, CLASSES]}
    results = Results("poplar_proof", ("case", "split", "ipus"), settings, DIRECTORY)
    for name, case in CASES.items():
        for split, ipus in case.runs():
            if results.has(case=name, split=split, ipus=ipus):
                continue
            one = ("--one", name, split, str(ipus))
            command = [sys.executable, "-m", "benchmarks.poplar_proof", *one]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
            results.put(json.loads(done.stdout))
            print(f"{name}, {ipus} IPUs by {split}", flush=True)


if __name__ == "__main__":
    main()

"""Compare the graphs of the NIR paper, as IPUlse imports them, with a simulation in float64.

    git clone https://github.com/neuromorphs/NIR
    python -m benchmarks.training public-graphs NIR/paper

The simulation reads the files with h5py alone, computes node by node, one step after the other,
and solves each neuron as the program does that wrote the file. `ipulse nir import --check` then
compares the spikes of all layers. Inputs are random, because the recordings are not in the files.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish

STEPS, SAMPLES, SEED = 100, 8, 1
NEURONS = ("LIF", "CubaLIF", "IF")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """A file, the options of its import, and how its writer solves neurons.

    step_s: 0 where spikes are added to the membrane as they are.
    rate: spikes of an input in a step.
    """

    file: str
    options: str
    solver: str
    reset: str
    step_s: float = 1e-4
    rate: float = 0.3


CASES = (
    Case("01_lif/lif_norse.nir", "--from norse --step-ms 0.1", "euler", "zero"),
    Case(
        "01_lif/lif_rockpool.nir",
        "--from nir --solver euler --step-ms 0.1",
        *("euler", "subtract"),
    ),
    Case(
        "01_lif/debug_spike_representation/two_lif_neurons.nir",
        "--from nir --solver exact --step-ms 1",
        *("exact", "subtract", 1e-3),
    ),
    Case("02_cnn/cnn_sinabs.nir", "--from sinabs", "exact", "subtract", 1.0, 0.05),
    Case("03_rnn/braille_noDelay_bias_zero.nir", "--from snntorch --reset zero", "euler", "zero"),
    Case(
        "03_rnn/braille_noDelay_noBias_subtract.nir",
        "--from snntorch --reset subtract",
        *("euler", "subtract"),
    ),
    Case(
        "03_rnn/extras/braille_noDelay_bias_zero_subgraph.nir",
        "--from snntorch --reset zero",
        *("euler", "zero"),
    ),
    Case(
        "03_rnn/extras/braille_noDelay_noBias_subtract_subgraph.nir",
        "--from snntorch --reset subtract",
        *("euler", "subtract"),
    ),
)


class _Simulation:
    """A graph without graphs in it, one step after the other."""

    def __init__(self, case: Case, graph: Any) -> None:
        self._case = case
        self.fields = {
            name: {key: node[key][()] for key in node if hasattr(node[key], "shape")}
            for name, node in graph["nodes"].items()
        }
        self.kinds = {name: node.pop("type").decode() for name, node in self.fields.items()}
        self._into: dict[str, list[str]] = {name: [] for name in self.fields}
        for source, target in graph["edges"][()]:
            self._into[target.decode()].append(source.decode())
        self._order = list(self._in_order())
        self._states: dict[str, Array] = {}
        self._values: dict[str, Array] = {}

    def _in_order(self) -> Iterator[str]:
        """Yield nodes behind those that they receive; a loop waits for the step before."""
        done: set[str] = set()
        while len(done) < len(self.fields):
            ready = [
                name
                for name in self.fields
                if name not in done
                and all(each in done or self._loops(name, each) for each in self._into[name])
            ]
            yield ready[0]
            done.add(ready[0])

    def _loops(self, name: str, source: str) -> bool:
        """Return whether a weight node leads from a neuron back to it."""
        return self.kinds[name] in NEURONS and name in self._into[source]

    def step(self, inputs: Array) -> dict[str, Array]:
        """Return the spikes of all neurons `[samples, neurons ...]`."""
        for name in self._order:
            kind, fields = self.kinds[name], self.fields[name]
            if kind == "Input":
                self._values[name] = inputs
                continue
            arriving = [self._value(source, name) for source in self._into[name]]
            value = sum(arriving[1:], arriving[0])
            self._values[name] = (
                self._fire(name, value) if kind in NEURONS else _mapped(kind, fields, value)
            )
        return {name: self._values[name] for name, kind in self.kinds.items() if kind in NEURONS}

    def _value(self, source: str, target: str) -> Array:
        if source in self._values:
            return self._values[source]
        # In the first step a loop brings what it makes of no spikes.
        rest = np.zeros((SAMPLES, len(self.fields[target]["v_threshold"])))
        return _mapped(self.kinds[source], self.fields[source], rest)

    def _fire(self, name: str, value: Array) -> Array:
        fields, kind, step_s = self.fields[name], self.kinds[name], self._case.step_s
        membrane = self._states.get(name, np.zeros_like(value))
        if kind == "CubaLIF":
            synapse = self._states.get(f"{name} synapse", np.zeros_like(value))
            value = self._leaked(synapse, fields["w_in"] * value, fields["tau_syn"])
            self._states[f"{name} synapse"] = value
        if kind == "IF":
            membrane = membrane + step_s * fields["r"] * value
        else:
            tau = fields["tau_mem" if kind == "CubaLIF" else "tau"]
            membrane = self._leaked(membrane, fields["v_leak"] + fields["r"] * value, tau)
        threshold = fields["v_threshold"]
        spikes = (membrane > threshold).astype(np.float64)
        rest = 0.0 if self._case.reset == "zero" else membrane - threshold
        self._states[name] = np.where(spikes > 0, rest, membrane)
        return spikes

    def _leaked(self, state: Array, target: Array, tau: Array) -> Array:
        ratio = self._case.step_s / tau.astype(np.float64)
        decay = 1 - ratio if self._case.solver == "euler" else np.exp(-ratio)
        result: Array = decay * state + (1 - decay) * target
        return result


def _mapped(kind: str, fields: dict[str, Any], value: Array) -> Array:
    """Return what a node without a state makes of `[samples, ...]`."""
    if kind in ("Linear", "Affine"):
        return value @ fields["weight"].T.astype(np.float64) + fields.get("bias", 0.0)
    if kind == "Flatten":
        return value.reshape(len(value), -1)
    if kind == "SumPool2d":
        high, wide = (int(side) for side in fields["kernel_size"])
        images, channels, height, width = value.shape
        tiles = value.reshape(images, channels, height // high, high, width // wide, wide)
        return tiles.sum(axis=(3, 5))
    if kind == "Conv2d":
        return _convolved(fields, value)
    return value


def _convolved(fields: dict[str, Any], value: Array) -> Array:
    weight = fields["weight"].astype(np.float64)
    (above, left), (down, right) = fields["padding"], fields["stride"]
    padded = np.pad(value, [(0, 0), (0, 0), (above, above), (left, left)])
    high = (padded.shape[2] - weight.shape[2]) // down + 1
    wide = (padded.shape[3] - weight.shape[3]) // right + 1
    total = np.zeros((len(value), len(weight), high, wide))
    for y in range(weight.shape[2]):
        for x in range(weight.shape[3]):
            part = padded[:, :, y : y + down * high : down, x : x + right * wide : right]
            total += np.einsum("nchw,fc->nfhw", part[:, :, :high, :wide], weight[:, :, y, x])
    return total + fields["bias"][:, None, None]


def recorded(case: Case, path: Path) -> dict[str, Array]:
    """Return random inputs and the spikes that they lead to, `[time, samples, neurons ...]`."""
    random = np.random.default_rng(SEED)
    with h5py.File(path, "r") as file:
        simulation = _Simulation(case, file["node"])
    [start] = (name for name, kind in simulation.kinds.items() if kind == "Input")
    shape = tuple(map(int, np.ravel(simulation.fields[start]["shape"])))
    inputs = (random.random((STEPS, SAMPLES, *shape)) < case.rate).astype(np.float64)
    steps = [simulation.step(each) for each in inputs]
    return {"inputs": inputs, **{name: np.array([s[name] for s in steps]) for name in steps[0]}}


def compared(case: Case, folder: Path) -> Row:
    """Return one row of the table: how many spikes are equal, or why the file is refused."""
    path, row = folder / case.file, {"file": Path(case.file).name, "options": case.options}
    words = [sys.executable, "-m", "ipulse", "nir", "import", str(path), *case.options.split()]
    with tempfile.TemporaryDirectory(prefix="ipulse-graphs-") as scratch:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        spikes: dict[str, Array] = {}
        if done.returncode == 0:
            spikes = recorded(case, path)
            np.savez(Path(scratch) / "spikes.npz", **spikes)
            words += ["--check", str(Path(scratch) / "spikes.npz")]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {**row, "result": done.stderr.strip().replace(f"{path}: ", "").split("\n")[-1]}
    equal = re.findall(r"Note: (\S+): all ([0-9,]+) spikes are equal", done.stderr)
    return {
        **row,
        "layers": len(equal),
        "values": sum(spikes[name].size for name, _ in equal),
        "spikes": sum(int(count.replace(",", "")) for _, count in equal),
        "result": "equal",
    }


def main(arguments: list[str] | None = None) -> int:
    """Compare all files and print the table."""
    parser = command_line.parser("training public-graphs", __doc__)
    parser.add_argument("folder", type=Path, help="`paper` of the repository neuromorphs/NIR")
    options = parser.parse_args(arguments)
    finish([compared(case, options.folder) for case in CASES], options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The spikes of every neuron on some test samples, and selected samples in full."""

from __future__ import annotations

from typing import Any, Dict, List, Set, Tuple

import numpy as np

from ipulse_core.spec.derived_values import class_count
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import spiking_neurons
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.results.results import NeuronActivity, SampleTrace

MOST_SAMPLES = 256  # on a CPU; devices take one batch of the size in their program
MOST_TRACES = 16
MOST_SPIKES = 150_000  # of all traces together, input included
NEEDED_QUANTILE = 99.9  # percentile of a layer's spikes per step that its capacity should hold


def measure_activity(model: Model, dataset: Dataset) -> Tuple[NeuronActivity, List[SampleTrace]]:
    """Run the first test samples and record the spikes of every neuron.

    Returns:
        The activity, and the traces of the first sample, of one sample of each class and of wrong
        predictions, at most 16.
    """
    spec = model.spec
    names, neurons = spiking_names(spec), spiking_neurons(spec)
    batch = spec.training.batch_size
    samples = dataset.test[: MOST_SAMPLES if spec.device.kind == "cpu" else batch]
    spikes = [np.zeros(size) for size in neurons]
    wanted: List[List[np.ndarray]] = [[] for _ in names]
    traces: List[SampleTrace] = []
    choice = _Choice(class_count(spec.data), dataset.targets is not None)
    for first in range(0, len(samples), batch):
        numbers = samples[first : first + batch]
        ids, counts = dataset.trains.batch(numbers)
        labels = dataset.labels[numbers]
        predicted = labels
        if dataset.targets is None:
            predicted = model.evaluate(ids, counts, labels).predicted
        out = model.forward(ids, counts)
        for at in range(len(names)):
            slots, filled = out.spike_ids[at], out.spike_counts[at][:, :, 0]
            sent = np.arange(slots.shape[2]) < filled[:, :, None]
            spikes[at] += np.bincount(slots[sent].astype(np.int64), minlength=neurons[at])
            wanted[at].append((filled + out.dropped[at]).ravel())
        for row in range(len(numbers)):
            if choice.takes(int(labels[row]), int(predicted[row])):
                trace = _trace(out, ids, counts, row, len(spec.network.layers))
                trace.update(
                    sample=int(numbers[row]),
                    image=None if dataset.images is None else dataset.images[numbers[row]],
                    **_answer(dataset, int(numbers[row]), int(predicted[row])),
                )
                traces.append(SampleTrace(**trace))
    needed = [
        int(np.ceil(np.percentile(np.concatenate(counts), NEEDED_QUANTILE))) for counts in wanted
    ]
    return NeuronActivity(len(samples), spec.data.steps, spikes, needed), _within_limit(traces)


def _answer(dataset: Dataset, sample: int, predicted: int) -> Dict[str, Any]:
    """Return the class and the predicted one, or the targets of a regression."""
    if dataset.targets is None:
        return {"label": int(dataset.labels[sample]), "predicted": predicted}
    return {"label": None, "predicted": None, "targets": dataset.targets[sample]}


class _Choice:
    """Selects samples: the first one, one of each class, and wrong predictions.

    A regression has no classes: the first samples are selected.
    """

    def __init__(self, classes: int, is_regression: bool) -> None:
        self._takes_all = is_regression
        self._seen: Set[int] = set()
        self._wrong = max(4, MOST_TRACES - classes)
        self._taken = 0

    def takes(self, label: int, predicted: int) -> bool:
        """Return whether the next sample is selected."""
        is_new = self._takes_all or label not in self._seen
        is_wrong = label != predicted and self._wrong > 0
        if self._taken >= MOST_TRACES or not (is_new or is_wrong or not self._taken):
            return False
        self._seen.add(label)
        self._wrong -= int(is_wrong and not is_new)
        self._taken += 1
        return True


def _trace(out: Any, ids: np.ndarray, counts: np.ndarray, row: int, hidden: int) -> Dict[str, Any]:
    layers = zip(out.spike_ids[:hidden], out.spike_counts[:hidden])
    return {
        "input_spikes": _pairs(ids[:, row], counts[:, row]),
        "layer_spikes": [_pairs(slots[:, row], filled[:, row, 0]) for slots, filled in layers],
        "membrane": out.membrane[:, row].astype(np.float64),
    }


def _within_limit(traces: List[SampleTrace]) -> List[SampleTrace]:
    """Return the first traces that have at most MOST_SPIKES together, and at least one."""
    total = 0
    kept: List[SampleTrace] = []
    for trace in traces:
        total += len(trace.input_spikes) + sum(len(spikes) for spikes in trace.layer_spikes)
        if kept and total > MOST_SPIKES:
            break
        kept.append(trace)
    return kept


def _pairs(ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Convert ids `[time, slots]` and counts `[time]` to (step, neuron), int64 `[spikes, 2]`."""
    step, slot = np.nonzero(np.arange(ids.shape[1]) < counts[:, None])
    return np.stack([step, ids[step, slot].astype(np.int64)], axis=1)

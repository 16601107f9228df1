"""The results of a training as plain values: everything that its report shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from ipulse_core.spec.conv_layers import hidden_sizes
from ipulse_core.spec.derived_values import class_count, input_channels
from ipulse_worker.runner.data import EventCounts
from ipulse_worker.runner.model.network import LayerLimits
from ipulse_worker.runner.results.exact_gradients import GradientComparison
from ipulse_worker.runner.results.nir_export import NirExport
from ipulse_worker.runner.training.evaluation import Evaluation
from ipulse_worker.runner.training.history import History

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

SATURATED_RATE = 0.5  # spikes per step, above which a neuron is called saturated


@dataclass(frozen=True)
class SampleTrace:
    """The activity of one sample in the network. Spikes are (step, neuron) pairs."""

    sample: int  # number in the data set
    image: Optional[np.ndarray]  # [rows, columns] in [0, 1]; None if the data are not images
    label: Optional[int]  # None in a regression
    predicted: Optional[int]  # None in a regression
    input_spikes: np.ndarray  # int64 [spikes, 2]
    layer_spikes: List[np.ndarray]  # int64 [spikes, 2] per hidden layer
    membrane: np.ndarray  # float64 [time, classes] of the readout
    targets: Optional[np.ndarray] = None  # [outputs] or [time, outputs], of a regression


@dataclass(frozen=True)
class NeuronActivity:
    """The spikes of every neuron on some test samples, by spiking layer."""

    samples: int
    steps: int  # time steps of a sample
    spikes: List[np.ndarray]  # float64 [neurons]: spikes that were sent in all samples
    needed_capacity: List[int]  # 99.9th percentile of the spikes per step, dropped ones included

    def dead(self, layer: int) -> List[int]:
        """Return the neurons of a layer that never spike."""
        neurons: List[int] = np.flatnonzero(self.spikes[layer] == 0).tolist()
        return neurons

    def saturated(self, layer: int) -> List[int]:
        """Return the neurons of a layer that spike in more than half of the steps."""
        rates = self.spikes[layer] / (self.samples * self.steps)
        neurons: List[int] = np.flatnonzero(rates > SATURATED_RATE).tolist()
        return neurons


@dataclass(frozen=True)
class Results:
    """The results of one finished training."""

    spec: ExperimentSpec
    spec_sha256: str
    job_id: str
    attempt: int
    started_at: str  # RFC 3339, UTC
    history: History
    evaluation: Evaluation
    neuron_activity: NeuronActivity
    sample_traces: List[SampleTrace]  # the first test sample, then others; see spikes.json
    dropped_in_training: np.ndarray  # float64 [spiking layers]: dropped spikes of all epochs
    limits: LayerLimits  # capacities and second thresholds at the end
    kept_epoch: int  # the epoch, from 1, of the weights that are kept
    events: EventCounts  # counts of the input events
    profile: Dict[str, Any]  # see docs/reference/profile.md
    git: Dict[str, Any]  # see provenance.git_revision
    nir_exports: Tuple[NirExport, ...]  # files of the spec's export.nir
    data_warnings: Tuple[str, ...]  # what is probably wrong with the data
    poplar_profile: Optional[Dict[str, Any]]  # of the Poplar program, if there is one
    start: Optional[Dict[str, Any]] = None  # as StartWeights.to_json; None for drawn weights
    # Weights of custom ops by their indices from 0.
    op_weights: Mapping[int, int] = field(default_factory=dict)
    exact_gradients: Optional[List[GradientComparison]] = None  # None if they are not compared

    @property
    def sizes(self) -> Tuple[int, ...]:
        """The numbers of neurons from input to readout."""
        layers = hidden_sizes(self.spec)
        return (input_channels(self.spec.data), *layers, class_count(self.spec.data))

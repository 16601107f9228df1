"""What an attempt found out: everything that its report shows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np

from ipulse_core.derived_values import class_count, input_channels
from ipulse_worker.runner.data import EventCounts
from ipulse_worker.runner.model.network import LayerLimits
from ipulse_worker.runner.training.history import History
from ipulse_worker.runner.training.metric_accumulator import MetricAccumulator

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


@dataclass(frozen=True)
class SampleTrace:
    """One sample's way through the network. Spikes are (step, neuron) pairs."""

    sample: int  # its number in the data set
    image: Optional[np.ndarray]  # [rows, columns] in [0, 1]; None where the data are no images
    label: int
    predicted: int
    input_spikes: np.ndarray  # int64 [spikes, 2]
    layer_spikes: List[np.ndarray]  # int64 [spikes, 2] of each hidden layer
    membrane: np.ndarray  # float64 [time, classes] of the readout


@dataclass(frozen=True)
class Evaluation:
    """The network on the held-out samples."""

    metrics: MetricAccumulator
    confusion: np.ndarray  # int64 [classes, classes]: true, predicted
    # Of every layer that spikes, float64 [layers, time]: mean of a sample.
    spikes_by_step: np.ndarray
    dropped_by_step: np.ndarray  # spikes without a slot
    input_spikes_by_step: np.ndarray  # float64 [time]: mean spikes of a sample


@dataclass(frozen=True)
class Results:
    """One finished training."""

    spec: ExperimentSpec
    spec_sha256: str
    job_id: str
    attempt: int
    started_at: str  # RFC 3339, UTC
    history: History
    evaluation: Evaluation
    sample_trace: SampleTrace
    dropped_in_training: np.ndarray  # float64 [layers]: spikes without a slot, all epochs
    limits: LayerLimits  # capacities and second thresholds at the end
    kept_epoch: int  # from 1: whose weights these are
    events: EventCounts  # of which the input spikes were made
    profile: Dict[str, Any]  # as in docs/reference/profile.md
    git: Dict[str, Any]  # as provenance.git_revision
    poplar_profile: Optional[Dict[str, Any]] = None  # of the program on IPUs, if there was one

    @property
    def sizes(self) -> Tuple[int, ...]:
        """Neurons from input to readout."""
        layers = [layer.neurons for layer in self.spec.network.layers]
        return (input_channels(self.spec.data), *layers, class_count(self.spec.data))

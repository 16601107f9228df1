"""The facts of a training that the findings of the report depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ipulse_core.spec.custom_ops import is_op
from ipulse_core.spec.layer_names import shown_names
from ipulse_core.spec.neuron_packages import has_package
from ipulse_core.spec.part_layers import has_equations
from ipulse_worker.runner.model.weight_names import spiking_names
from ipulse_worker.runner.profile.tile_profile import TileProfile
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.training.progress import held_out_samples

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


@dataclass(frozen=True)
class LayerFacts:
    """One spiking layer; shares are from 0 to 1."""

    title: str  # "layer 1" or "the readout"
    path: str  # in the spec
    neurons: int
    dead: float = 0.0  # share of the neurons
    saturated: float = 0.0  # share of the neurons
    dropped: float = 0.0  # share of the spikes on the test samples
    dropped_in_training: float = 0.0
    dropped_held_out: float = 0.0
    capacity: Optional[int] = None
    needed_capacity: int = 0  # holds the spikes of 99.9 % of the steps
    active_fraction: float = 0.0
    second_threshold: Optional[object] = None
    gradient_limit: Optional[str] = "second_threshold: 0.5"  # a setting that the layer could have


@dataclass(frozen=True)
class TrainingFacts:
    """The whole training; values of another device or of no step are None."""

    held_out: str  # "test" or "validation"
    device: str
    accuracy: Optional[float]  # on the test samples, of the kept epoch; None: a regression
    samples: int  # in the test part
    chance: float  # share of the most frequent test class
    training_accuracy: Optional[float]  # of the kept epoch
    held_out_accuracies: Sequence[float]  # by epoch
    layers: Sequence[LayerFacts]
    compile_seconds: float
    run_seconds: float
    stopped_early: bool = False
    missing_classes: Tuple[int, ...] = ()
    r2: Optional[float] = None  # of a regression, on the test samples
    backward_share: Optional[float] = None  # of a step
    framework_share: Optional[float] = None  # of a step
    fullest_tile: Optional[float] = None  # share of its memory
    tile_balance: Optional[float] = None
    exchange_share: Optional[float] = None  # of the cycles

    @property
    def chance_margin(self) -> float:
        """Two standard errors of an accuracy at chance."""
        return 2.0 * float(np.sqrt(self.chance * (1 - self.chance) / self.samples))

    @property
    def late_gain(self) -> Optional[float]:
        """The gain of test accuracy in the last fifth of at least five epochs.

        It is the difference of the best epochs before and within that part.
        """
        epochs = len(self.held_out_accuracies)
        if epochs < 5:
            return None
        late = max(1, epochs // 5)
        return max(self.held_out_accuracies[-late:]) - max(self.held_out_accuracies[:-late])


def training_facts(results: Results) -> TrainingFacts:
    """Read the facts from the results."""
    spec, metrics, profile = results.spec, results.evaluation.metrics, results.profile
    confusion, errors = results.evaluation.confusion, results.evaluation.errors
    by_class = np.ones(1) if confusion is None else confusion.sum(axis=1)
    history = results.history
    phases = {phase["name"]: phase["seconds"] for phase in profile["execution"]["phases"]}
    shares = {p["name"]: p["share"] for p in profile["execution"]["runs"][0]["steps"]["parts"]}
    epochs = history.epochs("test_accuracy") if confusion is not None else []
    training = history.epochs("accuracy") if confusion is not None else []
    return TrainingFacts(
        held_out=held_out_samples(spec),
        device=spec.device.kind,
        accuracy=None if confusion is None else metrics.score,
        samples=int(metrics.sums[0]),
        chance=float(by_class.max() / by_class.sum()),
        training_accuracy=training[results.kept_epoch - 1] if training else None,
        held_out_accuracies=epochs,
        layers=_layers(results),
        compile_seconds=phases.get("compile", 0.0),
        run_seconds=phases["run"],
        stopped_early=len(history.epochs("loss")) < spec.training.epochs,
        missing_classes=tuple(int(label) for label in np.flatnonzero(by_class == 0)),
        r2=None if errors is None else errors.r2,
        backward_share=shares["backward"] if spec.device.kind == "cpu" else None,
        framework_share=shares["framework"] if spec.device.kind == "cpu" else None,
        **_tiles(results),
    )


def _gradient_limit(spec: ExperimentSpec, layer: Optional[int]) -> Optional[str]:
    described = spec.network.readout if layer is None else spec.network.layers[layer]
    if is_op(described) or has_package(described):
        return None
    return "gate: -0.5" if has_equations(described) else "second_threshold: 0.5"


def _layers(results: Results) -> List[LayerFacts]:
    spec, metrics, activity = results.spec, results.evaluation.metrics, results.neuron_activity
    facts, shown = [], shown_names(spec.network)
    for at, name in enumerate(spiking_names(spec)):
        is_readout = name == "readout"
        sent = float(results.evaluation.spikes_by_step[at].sum() * metrics.sums[0])
        dropped = float(metrics.dropped[at])
        facts.append(
            LayerFacts(
                title="the readout" if shown[name] == "readout" else shown[name],
                path="network.readout" if is_readout else f"network.layers[{at}]",
                neurons=results.sizes[at + 1],
                dead=len(activity.dead(at)) / metrics.neurons[at],
                saturated=len(activity.saturated(at)) / metrics.neurons[at],
                dropped=dropped / (sent + dropped) if dropped else 0.0,
                dropped_in_training=float(results.dropped_in_training[at]),
                dropped_held_out=dropped,
                capacity=results.limits.capacities[at],
                needed_capacity=activity.needed_capacity[at],
                active_fraction=float(metrics.active_gradient_fractions[at]),
                second_threshold=results.limits.second_thresholds[at],
                gradient_limit=_gradient_limit(spec, None if is_readout else at),
            )
        )
    return facts


def _tiles(results: Results) -> Dict[str, Optional[float]]:
    if results.poplar_profile is None:
        return {}
    profile = TileProfile(results.poplar_profile, layers=1 + len(results.spec.network.layers))
    total = profile.total
    fullest = float(profile.bytes_by_tile.max() / profile.bytes_per_tile)
    if not profile.has_run:
        return {"fullest_tile": fullest}
    return {
        "fullest_tile": fullest,
        "tile_balance": profile.balance,
        "exchange_share": total.exchange / total.total if total.total else None,
    }

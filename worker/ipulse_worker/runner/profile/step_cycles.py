"""The cycles of a training step on emulated tiles: as a plan predicts them, and as counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

from ipulse_core.prediction.step_cycles import Rates, step_cycles, why_no_cycles
from ipulse_core.spec.kind_fields import field_of
from ipulse_worker.runner.profile.tile_profile import TileProfile

if TYPE_CHECKING:
    from ipulse_worker.runner.training.evaluation import Evaluation
    from ipulse_worker.runner.training.loop import Training

_RATES = ("firing_rate", "gradient_set")  # metrics of each layer


def step_cycles_document(
    training: Training, evaluation: Evaluation, poplar_profile: Optional[Dict[str, Any]]
) -> Optional[Dict[str, Any]]:
    """Return `step_cycles` of profile.json; None unless emulated IPUs trained.

    The prediction is for the rates of the first epoch and the mean input of the test samples.
    """
    if poplar_profile is None or not poplar_profile["emulated"]:
        return None
    spec = training.spec
    rates = {
        name: Rates(*(training.history.epochs(f"{kind}/{name}")[0] for kind in _RATES))
        for name in evaluation.metrics.names
    }
    found = step_cycles(spec, rates, float(evaluation.input_spikes_by_step.mean()))
    profile = TileProfile(poplar_profile, layers=1 + len(spec.network.layers))
    passes = (
        {"forward"} if field_of(spec.device, "training") == "device" else {"forward", "backward"}
    )
    is_whole = passes <= {run.name for run in profile.runs}
    predicted = None if found is None else found.to_json()
    if predicted is not None:
        predicted["activity"]["basis"] = "first_epoch"
    return {
        "counted": profile.first_step if is_whole else None,
        "predicted": predicted,
        "not_predicted": None if found else why_no_cycles(spec),
    }

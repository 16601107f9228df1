"""How an attempt ends: its message and reason, and the error behind an error of TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ipulse_core.pva.conditions import broken, parse_condition
from ipulse_core.pva.figures import figures_of
from ipulse_core.pva.report import Report
from ipulse_core.states import Reason
from ipulse_ops.neuron_package.calls import BrokenPackage
from ipulse_worker.runner.results.final_metrics import held_out_score
from ipulse_worker.runner.training.divergence import diverged
from ipulse_worker.runner.training.loop import Training
from ipulse_worker.runner.training.progress import held_out_samples
from ipulse_worker.runner.user_code.ops.ops import CustomOps

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


FAILED_GATES = "The results are stored, but the profile does not meet a gate"


def broken_gates(spec: ExperimentSpec, profile: Optional[Dict[str, Any]]) -> List[str]:
    """Return the gates that do not hold, each with the value.

    A gate whose figure is missing does not hold: nothing is passed without a measurement.
    """
    conditions = [parse_condition(gate) for gate in spec.profile.gates]
    return broken(conditions, figures_of(Report(profile)) if profile and conditions else {})


def training_outcome(
    spec: ExperimentSpec,
    training: Training,
    final: Dict[str, float],
    poplar_profile: Optional[Dict[str, Any]],
) -> Tuple[str, Reason]:
    """Return the message and the reason of a training with these final metrics."""
    reason = Reason.COMPLETED
    split = held_out_samples(spec).capitalize()
    message = f"{split} {held_out_score(final)} (epoch {training.kept_epoch:,})."
    if training.finished_early:
        reason = Reason.FINISHED_EARLY
        done, epochs = training.epochs_done, training.schedule.epochs
        message += f" Finished early, after {done:g} of {epochs:,} epochs."
    missed = broken_gates(spec, poplar_profile)
    if missed:
        reason = Reason.GATE_FAILED
        message = f"{FAILED_GATES}: {'; '.join(missed)}. {message}"
    return message, reason


def failure_of_ops(
    ops: Optional[CustomOps], training: Optional[Training]
) -> Optional[BaseException]:
    """Return the error of a custom op or of a layer with own neurons; None without one."""
    if ops is not None and ops.failure is not None:
        return ops.failure
    failure = None if training is None else getattr(training.model.net, "failure", None)
    if isinstance(failure, BrokenPackage):
        return failure
    return None if training is None or failure is None else diverged(failure, training)

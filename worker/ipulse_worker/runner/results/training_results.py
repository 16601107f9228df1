"""The results of a finished training."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ipulse_worker.runner import provenance
from ipulse_worker.runner.profile.profile import RunMetadata, dropped_in_training, profile
from ipulse_worker.runner.results.crossings import crossings_of
from ipulse_worker.runner.results.exact_gradients import compare_gradients
from ipulse_worker.runner.results.neuron_activity import measure_activity
from ipulse_worker.runner.results.nir_export import needs_crossings, nir_exports
from ipulse_worker.runner.results.results import Results
from ipulse_worker.runner.training.evaluation import Evaluation
from ipulse_worker.runner.training.loop import Training


def results_of(
    training: Training,
    evaluation: Evaluation,
    run_metadata: RunMetadata,
    poplar_profile: Optional[Dict[str, Any]],
) -> Results:
    """Return the results.

    Args:
        training: the finished training.
        evaluation: its result on the test samples.
        run_metadata: the job and attempt that the results belong to.
        poplar_profile: of the Poplar program, if there is one.
    """
    model, dataset = training.model, training.dataset
    activity, traces = measure_activity(model, dataset)
    return Results(
        spec=training.spec,
        spec_sha256=run_metadata.spec_sha256,
        job_id=run_metadata.job_id,
        attempt=run_metadata.attempt,
        started_at=run_metadata.started_at,
        history=training.history,
        evaluation=evaluation,
        neuron_activity=activity,
        sample_traces=traces,
        dropped_in_training=dropped_in_training(training),
        limits=model.limits,
        kept_epoch=training.kept_epoch,
        profile=profile(training, evaluation, run_metadata, poplar_profile),
        events=dataset.events,
        data_warnings=dataset.warnings,
        git=provenance.git_revision(),
        nir_exports=nir_exports(
            training.spec,
            model.arrays,
            evaluation.dropped_spikes,
            crossings_of(training.spec, model.arrays, dataset)
            if needs_crossings(training.spec)
            else None,
        ),
        poplar_profile=poplar_profile,
        start=run_metadata.start,
        exact_gradients=compare_gradients(training),
        op_weights={} if model.ops is None else model.ops.weight_counts(),
    )

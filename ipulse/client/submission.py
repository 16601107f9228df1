"""Forms of a spec that can be submitted: an experiment, a spec, a document or a file."""

from __future__ import annotations

from ipulse.client.jobs.requests import JobRequest, Spec
from ipulse.experiment import Experiment

Submittable = Experiment | Spec


def document_of(experiment: Submittable) -> Spec:
    """Return the spec as the client takes it. Raises InvalidSpec for a wrong Experiment."""
    return experiment.spec() if isinstance(experiment, Experiment) else experiment


def requested(experiment: Submittable | JobRequest) -> JobRequest:
    """Return an experiment as one of several jobs of a request. Raises InvalidSpec."""
    return experiment if isinstance(experiment, JobRequest) else JobRequest(document_of(experiment))

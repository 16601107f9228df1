"""Forms of a spec that can be submitted: an experiment, a spec, a document or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from ipulse.client.jobs.requests import JobRequest
from ipulse.client.loaded import is_instance

if TYPE_CHECKING:
    from ipulse.client.jobs.requests import Spec
    from ipulse.experiment import Experiment

Submittable: TypeAlias = "Experiment | Spec"


def document_of(experiment: Submittable) -> Spec:
    """Return the spec as the client takes it. Raises InvalidSpec for a wrong Experiment."""
    if is_instance(experiment, "ipulse.experiment", "Experiment"):
        return cast("Experiment", experiment).spec()
    return cast("Spec", experiment)


def requested(experiment: Submittable | JobRequest) -> JobRequest:
    """Return an experiment as one of several jobs of a request. Raises InvalidSpec."""
    return experiment if isinstance(experiment, JobRequest) else JobRequest(document_of(experiment))

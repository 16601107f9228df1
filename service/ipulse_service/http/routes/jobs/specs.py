"""The route of a job's spec as text."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Query

from ipulse.spec import brief_json
from ipulse.spec.document.yaml_writer import yaml_text
from ipulse_core.registry.versions import raise_to_2
from ipulse_core.spec.upgrade import upgrade
from ipulse_service.http import log_context as log
from ipulse_service.http import problems
from ipulse_service.http.dependencies import JobId, State
from ipulse_service.http.schemas.jobs.specs import SpecForm, SpecText
from ipulse_service.jobs import store, submitted_text

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.get(
    "/jobs/{job_id}/spec",
    summary="Read a job's spec as text",
    response_description="The spec as text.",
    responses=problems.documented(404),
)
def read_spec(
    job_id: JobId,
    state: State,
    form: Annotated[
        SpecForm,
        Query(
            description="resolved: with every default, as YAML, in version 1; version_2: the same "
            "in version 2; brief: in version 2, without what has its default; submitted: the text "
            "that was submitted, with its comments."
        ),
    ] = "resolved",
) -> SpecText:
    """Returns the spec of a job as text.

    The submitted text is not kept for jobs that the service made (trials, continuations, imports),
    for older jobs, and beyond 256 KiB: 404 with the code `spec_not_kept`.
    """
    log.bind(job=job_id)
    with state.database.read() as transaction:
        job = store.get(transaction, job_id)
        if form == "submitted":
            kept = submitted_text.get(transaction, job)
            return SpecText(form=form, format=kept.form, text=kept.text)
        document = json.loads(store.spec_of(transaction, job))
    if form == "version_2":
        document = raise_to_2(upgrade(document))
    elif form == "brief":
        document = brief_json(upgrade(document))
    return SpecText(form=form, format="yaml", text=yaml_text(document))

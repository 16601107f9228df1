"""The calls of the HTTP API about jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from ipulse.client.transport.api_call import JSON_CONTENT, APICall, object_in
from ipulse.idempotency import check_key
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, NotFound, Problem
from ipulse_core.messages import ID
from ipulse_core.states import JobState

from .batches import BatchResult, JobSearch, JobSelection
from .requests import JobRequest, Spec, document, document_of_all
from .resources import (
    Artifact,
    ChangePage,
    EventPage,
    Job,
    JobChange,
    JobEvent,
    JobPage,
    SubmissionPlan,
    ValidSpec,
)

_EVERY_JOB = JobSearch()


def validate(spec: Spec) -> APICall[ValidSpec]:
    """Return the call that checks a spec."""

    def read(response: httpx.Response) -> ValidSpec:
        value = object_in(response)
        return ValidSpec(spec=value["spec"], sha256=value["spec_sha256"])

    return APICall("POST", "/v1/jobs:validate", read, headers=JSON_CONTENT, content=document(spec))


def plan(spec: Spec, priority: int, run_seconds: int | None) -> APICall[SubmissionPlan]:
    """Return the call that plans a submission."""

    def read(response: httpx.Response) -> SubmissionPlan:
        return SubmissionPlan.from_json(object_in(response))

    params, content = {"priority": priority}, document(spec)
    if run_seconds is not None:
        params["run_seconds"] = run_seconds
    return APICall("POST", "/v1/jobs:plan", read, params, headers=JSON_CONTENT, content=content)


def submit(request: JobRequest, idempotency_key: str) -> APICall[Job]:
    """Return the call that submits a job whose spec is no file."""
    options = {
        "priority": request.priority,
        "queue_seconds": request.queue_seconds,
        "run_seconds": request.run_seconds,
        "total_seconds": request.total_seconds,
        "tag": [*request.tags],
        "group": request.group,
        "notes": request.notes,
        "start_from": request.start_from,
        "start_mode": request.start_mode,
        "after": [*request.after],
    }
    headers = {**JSON_CONTENT, "Idempotency-Key": check_key(idempotency_key)}
    params = {name: value for name, value in options.items() if value not in (None, [], "")}
    content = document(request.spec)
    return APICall("POST", "/v1/jobs", _job, params, headers=headers, content=content)


def submit_all(jobs: Sequence[JobRequest], idempotency_key: str) -> APICall[list[Job]]:
    """Return the call that submits several jobs, all or none."""

    def read(response: httpx.Response) -> list[Job]:
        return [Job.from_json(item["job"]) for item in object_in(response)["jobs"]]

    headers = {**JSON_CONTENT, "Idempotency-Key": check_key(idempotency_key)}
    content = document_of_all(jobs)
    return APICall("POST", "/v1/jobs:batch", read, headers=headers, content=content)


def spec_text(job_id: str, form: str) -> APICall[str]:
    """Return the call that reads the text of a job's spec."""

    def read(response: httpx.Response) -> str:
        return str(object_in(response)["text"])

    return APICall("GET", _job_path(job_id) + "/spec", read, {"form": form})


def get(job_id: str, known: Job | None) -> APICall[Job]:
    """Return the call that reads a job; the service sends it only if it differs from `known`."""

    def read(response: httpx.Response) -> Job:
        if response.status_code == 304 and known is not None:
            return known
        return _job(response)

    headers = {"If-None-Match": known.etag} if known is not None and known.etag else {}
    return APICall("GET", _job_path(job_id), read, headers=headers)


def get_ended(job_id: str, seconds: int) -> APICall[Job]:
    """Return the call that reads a job once it has ended, or after so many seconds."""
    headers = {"Prefer": f"wait={seconds}"} if seconds else {}
    return APICall("GET", _job_path(job_id), _job, headers=headers)


def list_jobs(
    state: str | None,
    page_size: int,
    page_token: str,
    id_prefix: str | None = None,
    search: JobSearch = _EVERY_JOB,
) -> APICall[JobPage]:
    """Return the call that reads one page of jobs."""

    def read(response: httpx.Response) -> JobPage:
        value = object_in(response)
        jobs = [Job.from_json(item) for item in value["jobs"]]
        token, total = value["next_page_token"], value.get("total")
        columns = value.get("columns") or ()
        unknown = tuple(column["key"] for column in columns if column["kind"] == "unknown")
        return JobPage(jobs, token, total, unknown)

    params: dict[str, Any] = {"page_size": page_size, **search.parameters()}
    if state is not None:
        params["state"] = _state(state)
    if id_prefix is not None:
        params["id_prefix"] = id_prefix
    if page_token:
        params["page_token"] = page_token
    return APICall("GET", "/v1/jobs", read, params=params)


def columns() -> APICall[dict[str, Any]]:
    """Return the call that lists the columns of all jobs, with the number of these jobs."""
    return APICall("GET", "/v1/jobs:columns", object_in)


def change_state(job_id: str, verb: str) -> APICall[Job]:
    """Return the call that cancels, finishes, pauses, resumes or retries a job."""
    return APICall("POST", f"{_job_path(job_id)}/{verb}", _job)


def continue_training(job_id: str, epochs: int, idempotency_key: str) -> APICall[Job]:
    """Return the call that trains a job for more epochs, as a new job."""
    headers = {**JSON_CONTENT, "Idempotency-Key": check_key(idempotency_key)}
    content = strict_json.dumps({"epochs": epochs}).encode()
    path = _job_path(job_id) + "/continue"
    return APICall("POST", path, _job, headers=headers, content=content)


def import_archive(upload_id: str) -> APICall[Job]:
    """Return the call that imports a job from an archive that was uploaded."""
    content = strict_json.dumps({"upload_id": upload_id}).encode()
    return APICall("POST", "/v1/jobs:import", _job, headers=JSON_CONTENT, content=content)


def delete(job_id: str, unchanged_since: Job | None = None) -> APICall[None]:
    """Return the call that deletes a job; the service refuses it if it has changed since."""
    headers = {} if unchanged_since is None else {"If-Match": unchanged_since.etag}
    return APICall("DELETE", _job_path(job_id), lambda response: None, headers=headers)


def edit(job_id: str, changes: Mapping[str, Any]) -> APICall[Job]:
    """Return the call that changes attributes of a job; those that are None stay."""
    given = {name: value for name, value in changes.items() if value is not None}
    content = strict_json.dumps(given).encode()
    return APICall("PATCH", _job_path(job_id), _job, headers=JSON_CONTENT, content=content)


def change_all(
    verb: str, selection: JobSelection, dry_run: bool, changes: Mapping[str, Any] | None = None
) -> APICall[BatchResult]:
    """Return the call that changes all jobs of a selection, or counts them."""
    params = {**selection.parameters(), **({"dry_run": "true"} if dry_run else {})}

    def read(response: httpx.Response) -> BatchResult:
        return BatchResult.from_json(object_in(response))

    if changes is None:
        return APICall("POST", f"/v1/jobs:{verb}", read, params=params)
    content = strict_json.dumps(changes).encode()
    return APICall(
        "POST", f"/v1/jobs:{verb}", read, params=params, headers=JSON_CONTENT, content=content
    )


def events(job_id: str, after: int, kinds: Sequence[str]) -> APICall[EventPage]:
    """Return the call that reads one page of events."""

    def read(response: httpx.Response) -> EventPage:
        value = object_in(response)
        listed = [JobEvent.from_json(item) for item in value["events"]]
        return EventPage(events=listed, next_after=int(value["next_after"]), end=bool(value["end"]))

    params: dict[str, Any] = {"after": after}
    if kinds:
        params["kind"] = list(kinds)
    return APICall("GET", _job_path(job_id) + "/events", read, params=params)


def changes(after: str, project: str | None, wait_seconds: int) -> APICall[ChangePage]:
    """Return the call that reads, or waits for, changes of all jobs."""

    def read(response: httpx.Response) -> ChangePage:
        value = object_in(response)
        return ChangePage(
            [JobChange.from_json(item) for item in value["events"]], str(value["next_after"])
        )

    params = {"after": after, **({"project": project} if project else {})}
    headers = {"Prefer": f"wait={wait_seconds}"} if wait_seconds else {}
    return APICall("GET", "/v1/events", read, params=params, headers=headers)


def artifacts(job_id: str) -> APICall[list[Artifact]]:
    """Return the call that lists the files of a job."""

    def read(response: httpx.Response) -> list[Artifact]:
        return [Artifact.from_json(item) for item in object_in(response)["artifacts"]]

    return APICall("GET", _job_path(job_id) + "/artifacts", read)


def profile(job_id: str) -> APICall[dict[str, Any]]:
    """Return the call that reads a job's profile.json."""
    return APICall("GET", _job_path(job_id) + "/profile", object_in)


def ready() -> APICall[dict[str, Any]]:
    """Return the call that checks that the service is ready."""
    return APICall("GET", "/readyz", object_in)


def events_path(job_id: str) -> str:
    """Return the path of a job's event stream."""
    return _job_path(job_id) + "/events"


def content_path(job_id: str, artifact_id: str) -> str:
    """Return the path of a file's content."""
    if not ID.fullmatch(artifact_id):
        raise NotFound(f"there is no artifact {artifact_id!r}")
    return f"{_job_path(job_id)}/artifacts/{artifact_id}/content"


def _job_path(job_id: str) -> str:
    # The id becomes a part of a path, where dots and slashes have a meaning.
    if not ID.fullmatch(job_id):
        raise NotFound(f"there is no job {job_id[:100]!r}")
    return f"/v1/jobs/{job_id}"


def _state(name: str) -> str:
    states = [state.value for state in JobState]
    if name not in states:
        detail = f"must be one of {', '.join(states)}; got {name[:60]!r}"
        raise InvalidInput(
            [Problem("/state", "not_a_choice", detail)], "there is no such job state"
        )
    return str(JobState(name).value)


def _job(response: httpx.Response) -> Job:
    return Job.from_json(object_in(response), etag=response.headers.get("etag", ""))

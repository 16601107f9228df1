"""The end of an attempt, stored together with its last events and its manifest."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence

from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.states import Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import NewArtifact
from ipulse_service.files.partial_upload import PartialUpload, WrongContent
from ipulse_service.http.schemas.worker_requests import FinishRequest, ManifestFile
from ipulse_service.http.state import AppState
from ipulse_service.jobs import attempts, leases, worker_reports
from ipulse_service.jobs.job import JobRow
from ipulse_service.jobs.leases import AttemptRow

JobAndAttempts = tuple[JobRow, Sequence[AttemptRow]]


def finish_attempt(
    state: AppState, attempt_id: str, fence: str, request: FinishRequest
) -> JobAndAttempts:
    """Ends the attempt and stores what came with the request: all of it, or nothing.

    Returns the job and all of its attempts. A request that was served before changes nothing.
    Raises what `attempts.finish`, `worker_reports.record` and `artifacts.add` raise, InvalidInput
    for an unknown reason, WrongContent, and Unavailable.
    """
    outcome = _outcome_in(request)
    if request.manifest is None:
        with state.database.write() as transaction:
            return _finish(transaction, state, attempt_id, fence, request, outcome)
    upload = state.blobs.receive()
    try:
        _write_manifest(upload, request.manifest)
        upload.sync()
        with artifacts.keeping(state.database, state.blobs, upload) as transaction:
            return _finish(transaction, state, attempt_id, fence, request, outcome, upload)
    finally:
        upload.close()


def _finish(
    transaction: Transaction,
    state: AppState,
    attempt_id: str,
    fence: str,
    request: FinishRequest,
    outcome: AttemptOutcome,
    upload: PartialUpload | None = None,
) -> JobAndAttempts:
    attempt = leases.check_fence(transaction, attempt_id, fence)
    if attempt.finished_at is None:
        if request.events:
            worker_reports.record(transaction, attempt, request.first, request.events)
        if request.manifest and upload:
            manifest = NewArtifact(request.manifest.name, "manifest", request.manifest.media_type)
            artifacts.add(transaction, attempt, manifest, upload)
    job = attempts.finish(transaction, attempt, outcome, state.settings)
    return job, leases.of_job(transaction, job.pk)


def _write_manifest(upload: PartialUpload, manifest: ManifestFile) -> None:
    try:
        content = b64decode(manifest.base64, validate=True)
    except ValueError as error:
        raise InvalidInput([Problem("/manifest/base64", "wrong_form", str(error))]) from error
    upload.write(content)
    if upload.sha256 != manifest.sha256:
        detail = f"the content that arrived has the digest {upload.sha256}"
        raise WrongContent([Problem("/manifest/sha256", "wrong_sha256", detail)])


def _outcome_in(request: FinishRequest) -> AttemptOutcome:
    try:
        return AttemptOutcome(Reason(request.reason), request.message, dict(request.summary))
    except ValueError as error:
        detail = f"must be one of {', '.join(Reason)}"
        raise InvalidInput([Problem("/reason", "not_a_choice", detail)]) from error

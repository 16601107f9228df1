"""The end of an attempt, with what comes along: its last events and its manifest."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.states import Reason
from ipulse_service.db.engine import Transaction
from ipulse_service.files import artifacts
from ipulse_service.files.artifacts import Description
from ipulse_service.files.partial_upload import Incoming, WrongContent
from ipulse_service.http.state import AppState
from ipulse_service.http.worker_requests import Finish, ManifestFile
from ipulse_service.jobs import attempts, leases
from ipulse_service.jobs import worker_reports as reports
from ipulse_service.jobs.attempts import Verdict
from ipulse_service.jobs.job import Job
from ipulse_service.jobs.leases import Attempt

Ended = tuple[Job, Sequence[Attempt]]


def end(parts: AppState, attempt_id: str, fence: str, said: Finish) -> Ended:
    """Ends the attempt with all that comes along, or changes nothing; returns its job and all
    attempts at that. What was said already changes nothing either.

    Raises what `attempts.finish`, `reports.record` and `artifacts.add` raise, InvalidInput for an
    unknown reason, WrongContent, and Unavailable.
    """
    verdict = _verdict(said)
    if said.manifest is None:
        with parts.database.write() as transaction:
            return _end(transaction, parts, attempt_id, fence, said, verdict)
    incoming = parts.blobs.receive()
    try:
        _fill(incoming, said.manifest)
        incoming.sync()
        with artifacts.keeping(parts.database, parts.blobs, incoming) as transaction:
            return _end(transaction, parts, attempt_id, fence, said, verdict, incoming)
    finally:
        incoming.close()


def _end(
    transaction: Transaction,
    parts: AppState,
    attempt_id: str,
    fence: str,
    said: Finish,
    verdict: Verdict,
    incoming: Incoming | None = None,
) -> Ended:
    attempt = leases.check_fence(transaction, attempt_id, fence)
    if attempt.finished_at is None:
        if said.events:
            reports.record(transaction, attempt, said.first, said.events)
        if said.manifest and incoming:
            described = Description(said.manifest.name, "manifest", said.manifest.media_type)
            artifacts.add(transaction, attempt, described, incoming)
    job = attempts.finish(transaction, attempt, verdict, parts.settings)
    return job, leases.of_job(transaction, job.pk)


def _fill(incoming: Incoming, manifest: ManifestFile) -> None:
    try:
        content = b64decode(manifest.base64, validate=True)
    except ValueError as error:
        raise InvalidInput([Problem("/manifest/base64", "wrong_form", str(error))]) from error
    incoming.write(content)
    if incoming.sha256 != manifest.sha256:
        detail = f"the bytes that arrived have {incoming.sha256}"
        raise WrongContent([Problem("/manifest/sha256", "wrong_sha256", detail)])


def _verdict(said: Finish) -> Verdict:
    try:
        return Verdict(Reason(said.reason), said.message, dict(said.summary))
    except ValueError as error:
        detail = f"must be one of {', '.join(Reason)}"
        raise InvalidInput([Problem("/reason", "not_a_choice", detail)]) from error

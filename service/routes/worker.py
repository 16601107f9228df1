"""The agents' only way in: claim a job, keep it, speak for it, end it."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ipulse import parsing
from ipulse.errors import Conflict, InvalidInput, Problem
from ipulse.events import (
    ArtifactEvent,
    CheckpointEvent,
    DoneEvent,
    LogEvent,
    MetricEvent,
    PhaseEvent,
    ProgressEvent,
)
from ipulse.schema import MAX_INTEGER, described
from ipulse.states import Reason
from service import agents, artifacts, attempts, leases, log, payloads, preferences, store
from service.artifacts import Description
from service.attempts import Verdict
from service.auth import open_to
from service.blobs import Incoming
from service.parts import Parts, PartsOf
from service.payloads import EventsBody, JSONBody
from service.problems import TooLarge
from service.representations import (
    CheckpointBody,
    ClaimBody,
    HeartbeatBody,
    JobBody,
    NextEventBody,
    OrdersBody,
    StoredBody,
)

MAX_EVENTS = 10_000  # in one request
EVENTS_PER_COMMIT = 500  # so that a chatty job does not keep others from writing
_WRITE_BYTES = 2**20  # handed to a thread at once

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?charset=[A-Za-z0-9-]+)?")

AttemptId = Annotated[str, Path()]
Fence = Annotated[str, Header(alias="IPUlse-Fence", max_length=128)]

router = APIRouter(prefix="/v1/worker", tags=["worker"])


class WrongContent(InvalidInput):
    """What arrived is not what was announced; send it again."""

    code = "wrong_content"


class WrongOffset(Conflict):
    """The file does not go on where this begins; ask with HEAD where it does."""

    code = "wrong_offset"


@dataclass(frozen=True)
class ClaimRequest:
    """An agent asks for a job."""

    job_id: str = described("The job.", max_length=64)
    agent: str = described("A name for people: host and process.", max_length=128)
    device_kinds: tuple[str, ...] = described(
        "Kinds of devices the agent can use.", min_items=1, max_items=16, max_length=32
    )


@dataclass(frozen=True)
class Announcement:
    """An agent is there."""

    agent: str = described("A name for people: host and process.", max_length=128)
    device_kinds: tuple[str, ...] = described(
        "Kinds of devices the agent can use.", min_items=1, max_items=16, max_length=32
    )
    resting: tuple[str, ...] = described(
        "Those of them that it leaves alone after an error of the device.",
        factory=tuple,
        max_items=16,
        max_length=32,
    )


@dataclass(frozen=True)
class EventBatch:
    """Some events of an attempt, without gaps."""

    first: int = described("Attempt-local number of the first one, from 1.", ge=1)
    events: tuple[PhaseEvent | ProgressEvent | MetricEvent | LogEvent | CheckpointEvent, ...] = (
        described("The events in order.", max_items=MAX_EVENTS)
    )


@dataclass(frozen=True)
class Orders:
    """What the holder of an attempt is to do about its job."""

    job_id: str
    cancel: bool


class ArtifactQuery(BaseModel):
    """What is announced of a file."""

    model_config = ConfigDict(extra="forbid")

    role: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0, le=MAX_INTEGER, description="Bytes.")
    media_type: str = "application/octet-stream"


@router.post("/agents", status_code=204, openapi_extra=payloads.described(Announcement))
@open_to("worker")
def announce(body: JSONBody, parts: PartsOf) -> Response:
    """An agent says that it is there and what it can use; now and then, so that it stays known."""
    said = payloads.parse(Announcement, body)
    with parts.database.write() as transaction:
        agents.announce(transaction, said.agent, said.device_kinds, said.resting)
    return Response(status_code=204)


@router.post(
    "/claims", responses={200: {"model": ClaimBody}}, openapi_extra=payloads.described(ClaimRequest)
)
@open_to("worker")
def claim(body: JSONBody, parts: PartsOf) -> Response:
    """Starts the next attempt at a queued job: one of two that ask at once gets it."""
    wanted = payloads.parse(ClaimRequest, body)
    log.know(job=wanted.job_id)
    lease_seconds = parts.settings.lease_seconds
    with parts.database.write() as transaction:
        claimed = leases.claim(
            transaction, wanted.job_id, wanted.agent, wanted.device_kinds, lease_seconds
        )
        checkpoint = artifacts.latest_checkpoint(transaction, claimed.job)
    log.know(attempt=claimed.attempt.id)
    answer = ClaimBody(
        job_id=claimed.job.id,
        attempt_id=claimed.attempt.id,
        attempt=claimed.attempt.number,
        fence=claimed.fence,
        lease_seconds=lease_seconds,
        heartbeat_seconds=parts.settings.heartbeat_seconds,
        spec=json.loads(claimed.job.spec),
        checkpoint=None
        if checkpoint is None
        else CheckpointBody(
            artifact_id=checkpoint.id,
            sha256=checkpoint.sha256,
            size=checkpoint.size,
            name=checkpoint.name,
        ),
    )
    return _json(answer)


@router.post("/attempts/{attempt_id}/heartbeat", responses={200: {"model": HeartbeatBody}})
@open_to("worker")
def heartbeat(attempt_id: AttemptId, fence: Fence, parts: PartsOf) -> Response:
    """Renews the lease, and says whether the job is to stop."""
    log.know(attempt=attempt_id)
    with parts.database.write() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        leases.renew(transaction, attempt, parts.settings.lease_seconds)
        cancel = attempts.is_to_stop(transaction, attempt)
    return _json(HeartbeatBody(cancel=cancel, lease_seconds=parts.settings.lease_seconds))


@router.get("/attempts/{attempt_id}", responses={200: {"model": OrdersBody}})
@open_to("worker")
async def orders(
    attempt_id: AttemptId, fence: Fence, parts: PartsOf, prefer: Annotated[str, Header()] = ""
) -> Response:
    """Whether the job is to stop; with `Prefer: wait=N` said when it is, or after N seconds."""
    log.know(attempt=attempt_id)
    seconds = preferences.wait_seconds(prefer)
    until = time.monotonic() + (seconds or 0)
    found = await run_in_threadpool(_orders, parts, attempt_id, fence)
    with parts.changes.watch(store.state_topic(found.job_id)) as watch:
        while True:
            watch.clear()
            found = await run_in_threadpool(_orders, parts, attempt_id, fence)
            left = until - time.monotonic()
            if found.cancel or left <= 0 or parts.changes.stopping:
                break
            await watch.wait(left)
    headers = preferences.applied(seconds)
    return _json(OrdersBody(cancel=found.cancel), headers=headers)


@router.post(
    "/attempts/{attempt_id}/events",
    responses={200: {"model": NextEventBody}},
    openapi_extra=payloads.described(EventBatch),
)
@open_to("worker")
def record(attempt_id: AttemptId, fence: Fence, body: EventsBody, parts: PartsOf) -> Response:
    """Stores events once, however often they are sent."""
    log.know(attempt=attempt_id)
    batch = payloads.parse(EventBatch, body)
    following = 0
    # A batch that stops half-way is sent again, and what is there already is passed over.
    for start in range(0, max(len(batch.events), 1), EVENTS_PER_COMMIT):
        some = batch.events[start : start + EVENTS_PER_COMMIT]
        with parts.database.write() as transaction:
            attempt = leases.hold(transaction, attempt_id, fence)
            following = attempts.record(transaction, attempt, batch.first + start, some)
    return _json(NextEventBody(next=following))


@router.head("/attempts/{attempt_id}/artifacts/{name}", include_in_schema=False)
@open_to("worker")
def uploaded(
    attempt_id: AttemptId,
    fence: Fence,
    query: Annotated[ArtifactQuery, Query()],
    parts: PartsOf,
) -> Response:
    """How much of a file has arrived: what an interrupted upload goes on from."""
    log.know(attempt=attempt_id)
    pk = _check_held(parts, attempt_id, fence)
    return Response(headers={"upload-offset": str(parts.blobs.arrived(_partial(pk, query)))})


@router.put(
    "/attempts/{attempt_id}/artifacts/{name}",
    responses={200: {"model": StoredBody}, 201: {"model": StoredBody}},
    openapi_extra={"requestBody": {"content": {"application/octet-stream": {}}}},
)
@open_to("worker")
async def store_artifact(
    attempt_id: AttemptId,
    name: str,
    fence: Fence,
    query: Annotated[ArtifactQuery, Query()],
    request: Request,
    parts: PartsOf,
    upload_offset: Annotated[int, Header(ge=0, le=MAX_INTEGER)] = 0,
) -> Response:
    """Stores a file as it streams in. The same file twice is one artifact.

    With `Upload-Offset: N` only the rest follows; HEAD says how much has arrived before.
    """
    log.know(attempt=attempt_id)
    async with payloads.stream(request) as chunks:
        described_as = _describe(name, query)
        if query.size > parts.settings.max_artifact_bytes:
            raise TooLarge((), f"a file may have {parts.settings.max_artifact_bytes:,} bytes")
        pk = await run_in_threadpool(_check_held, parts, attempt_id, fence)
        incoming = await run_in_threadpool(parts.blobs.receive, _partial(pk, query))
        if upload_offset == 0:
            await run_in_threadpool(incoming.restart)
        elif upload_offset != incoming.size:
            incoming.suspend()
            raise WrongOffset(f"the file goes on at byte {incoming.size}")
        try:
            buffer = bytearray()
            async for chunk in chunks:
                buffer += chunk
                if incoming.size + len(buffer) > query.size:
                    raise _wrong("size", f"more than the {query.size} bytes announced")
                if len(buffer) >= _WRITE_BYTES:
                    await run_in_threadpool(incoming.write, bytes(buffer))
                    buffer.clear()
            await run_in_threadpool(incoming.write, bytes(buffer))
            _check_content(incoming, query)
            await run_in_threadpool(incoming.sync)
            stored = await run_in_threadpool(
                _keep, parts, attempt_id, fence, described_as, incoming
            )
        except ClientDisconnect:
            incoming.suspend()
            raise
        except BaseException:
            await run_in_threadpool(incoming.close)
            raise
        await run_in_threadpool(incoming.close)
    for sha256 in stored.replaced:
        await run_in_threadpool(artifacts.forget, parts.database, parts.blobs, sha256)
    return _json(StoredBody(artifact_id=stored.artifact.id), 201 if stored.created else 200)


@router.post(
    "/attempts/{attempt_id}/finish",
    responses={200: {"model": JobBody}},
    openapi_extra=payloads.described(DoneEvent),
)
@open_to("worker")
def finish(attempt_id: AttemptId, fence: Fence, body: JSONBody, parts: PartsOf) -> Response:
    """Ends the attempt. Its job ends too, or is tried again if only infrastructure was lost."""
    log.know(attempt=attempt_id)
    verdict = _verdict(payloads.parse(DoneEvent, body))
    with parts.database.write() as transaction:
        attempt = leases.check_fence(transaction, attempt_id, fence)
        job = attempts.finish(transaction, attempt, verdict, parts.settings)
        tried = leases.of_jobs(transaction, [job.pk])[job.pk]
    log.know(job=job.id)
    return _json(JobBody.of(job, tried))


def _describe(name: str, query: ArtifactQuery) -> Description:
    # The rules for a name, a role and a media type stand in the event that announces a file.
    places = {"/path": "/path/name", "/role": "/query/role", "/media_type": "/query/media_type"}
    value = {
        "kind": "artifact",
        "path": name,
        "role": query.role,
        "media_type": query.media_type,
    }
    try:
        event = parsing.parse(ArtifactEvent, value)
    except InvalidInput as error:
        found = [Problem(places[p.pointer], p.code, p.detail) for p in error.problems]
        raise InvalidInput(found) from error
    if not _MEDIA_TYPE.fullmatch(event.media_type):
        detail = "must look like type/subtype"
        raise InvalidInput([Problem("/query/media_type", "wrong_form", detail)])
    return Description(name=event.path, role=event.role, media_type=event.media_type)


def _verdict(done: DoneEvent) -> Verdict:
    try:
        return Verdict(Reason(done.reason), done.message, dict(done.summary))
    except ValueError as error:
        detail = f"must be one of {', '.join(Reason)}"
        raise InvalidInput([Problem("/reason", "not_a_choice", detail)]) from error


def _orders(parts: Parts, attempt_id: str, fence: str) -> Orders:
    with parts.database.read() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        job = store.get_by_pk(transaction, attempt.job_pk)
        return Orders(job.id, attempts.is_to_stop(transaction, attempt))


def _check_held(parts: Parts, attempt_id: str, fence: str) -> int:
    with parts.database.read() as transaction:
        return leases.hold(transaction, attempt_id, fence).pk


def _partial(attempt_pk: int, query: ArtifactQuery) -> str:
    return f"{attempt_pk}-{query.sha256}"


def _keep(
    parts: Parts, attempt_id: str, fence: str, described_as: Description, incoming: Incoming
) -> artifacts.Stored:
    parts.blobs.place(incoming)
    with parts.database.write() as transaction:
        attempt = leases.hold(transaction, attempt_id, fence)
        return artifacts.add(transaction, parts.blobs, attempt, described_as, incoming)


def _check_content(incoming: Incoming, query: ArtifactQuery) -> None:
    if incoming.size != query.size:
        raise _wrong("size", f"{incoming.size} bytes arrived; {query.size} were announced")
    if incoming.sha256 != query.sha256:
        raise _wrong("sha256", f"the bytes that arrived have {incoming.sha256}")


def _wrong(field: str, detail: str) -> WrongContent:
    return WrongContent([Problem(f"/query/{field}", f"wrong_{field}", detail)])


def _json(body: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body.model_dump_json(), status, headers, "application/json")

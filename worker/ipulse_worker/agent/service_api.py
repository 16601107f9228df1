"""The service as the agent sees it: each call one request, each refusal one exception.

Nothing is repeated here; `patience.patiently` repeats what failed with ServiceUnavailable.
"""

from __future__ import annotations

import ssl
import time
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import httpx

from ipulse.log_lines import packed
from ipulse_core.events import Event
from ipulse_core.schema import to_json
from ipulse_worker.agent.connections import TIMEOUT, Connections
from ipulse_worker.agent.service_responses import object_in, raise_refusal, understood
from ipulse_worker.agent.supervision.attempt_outcome import Verdict
from ipulse_worker.agent.supervision.lease import Lease
from ipulse_worker.agent.uploads.outgoing_file import Outgoing

FENCE = "IPUlse-Fence"
_DOWNLOAD_BYTES = 2**20  # written at once
HEARTBEAT_SECONDS = 4.0  # that an answer to a heartbeat may take
_DOWNLOAD_TIMEOUT = httpx.Timeout(60.0, connect=3.0)
# A file is answered for once the store has it, and a bucket may be slow. That the service itself
# is gone, the heartbeats tell.
_UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=3.0, read=600.0)
_MANIFEST_TIMEOUT = httpx.Timeout(10.0, connect=3.0, read=60.0)


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint of an earlier attempt."""

    artifact_id: str
    sha256: str
    size: int  # bytes
    name: str


@dataclass(frozen=True)
class Claim:
    """A job to work on, and the lease to do it under."""

    job_id: str
    attempt: int  # number of the attempt, from 1
    spec: dict[str, Any]
    checkpoint: StoredCheckpoint | None
    lease: Lease
    heartbeat_seconds: float

    @property
    def device_kind(self) -> str:
        device = self.spec.get("device") or {}
        return str(device.get("kind", "cpu"))  # the service writes every default out


@dataclass(frozen=True)
class ManifestFile:
    """A manifest that is small enough to come with the verdict."""

    name: str
    media_type: str
    sha256: str
    content: bytes


@dataclass(frozen=True)
class Orders:
    """Whether to stop, and whether the service held its answer back while there was no news."""

    cancel: bool
    was_held: bool


class ServiceAPI:
    """Usable from several threads at once."""

    def __init__(self, url: str, token: str, trust: ssl.SSLContext | None = None) -> None:
        self._connections = Connections(url, token, trust)

    def close(self) -> None:
        """No call is begun any more; one that is under way comes to its end."""
        self._connections.close()

    def claim(self, job_id: str, agent: str, device_kinds: Sequence[str]) -> Claim:
        """Takes the job for a new attempt. Raises NotClaimable, or NotFound."""
        sent_at = time.monotonic()
        question = {"job_id": job_id, "agent": agent, "device_kinds": list(device_kinds)}
        answer = self._post("/v1/worker/claims", question)
        with understood("a claim"):
            stored = answer["checkpoint"]
            lease_seconds = float(answer["lease_seconds"])
            return Claim(
                job_id=str(answer["job_id"]),
                attempt=int(answer["attempt"]),
                spec=answer["spec"],
                checkpoint=None if stored is None else _checkpoint(stored),
                lease=Lease(
                    str(answer["attempt_id"]), str(answer["fence"]), lease_seconds, sent_at
                ),
                heartbeat_seconds=float(answer["heartbeat_seconds"]),
            )

    def announce(
        self, agent: str, device_kinds: Sequence[str], resting: Sequence[str] = ()
    ) -> None:
        """Says that this agent is there, what it can use, and what of it not now."""
        body = {"agent": agent, "device_kinds": list(device_kinds), "quarantined": list(resting)}
        self._request("POST", "/v1/worker/agents", json=body)

    def heartbeat(self, lease: Lease) -> bool:
        """Renews the lease; returns whether the attempt is to be cancelled."""
        sent_at = time.monotonic()
        # An answer that comes after the lease has run out is of no use.
        longest = min(HEARTBEAT_SECONDS, max(lease.seconds_left(), 0.1))
        path = f"/v1/worker/attempts/{lease.attempt_id}/heartbeat"
        answer = self._post(path, {}, lease, httpx.Timeout(longest))
        with understood("a heartbeat"):
            lease.renew(float(answer["lease_seconds"]), sent_at)
            return bool(answer["cancel"])

    def orders(self, lease: Lease, wait_seconds: int) -> Orders:
        """Whether the attempt is to be cancelled; the answer may take `wait_seconds`."""
        path = f"/v1/worker/attempts/{lease.attempt_id}"
        response = self._request(
            "GET",
            path,
            headers={FENCE: lease.fence, "Prefer": f"wait={wait_seconds}"},
            timeout=httpx.Timeout(wait_seconds + 10.0, connect=3.0),
        )
        answer = object_in(response, path)
        with understood("a question for orders"):
            return Orders(bool(answer["cancel"]), "Preference-Applied" in response.headers)

    def send_events(self, lease: Lease, first: int, events: Sequence[Event]) -> int:
        """Sends events numbered from `first`; returns the number that is expected next."""
        body = {"first": first, "events": _told(events)}
        answer = self._post(f"/v1/worker/attempts/{lease.attempt_id}/events", body, lease)
        with understood("events"):
            return int(answer["next"])

    def upload(self, lease: Lease, file: Outgoing, *, name: str, role: str, media_type: str) -> str:
        """Streams the file from where an earlier try broke off; returns the SHA-256 of what is
        stored."""
        path = f"/v1/worker/attempts/{lease.attempt_id}/artifacts/{name}"
        params = {"role": role, "media_type": media_type, **file.announced}
        offset = self._arrived(path, params, lease) if file.is_large else 0
        headers = {FENCE: lease.fence, "Content-Length": str(file.length(offset))}
        if offset:
            headers["Upload-Offset"] = str(offset)
        response = self._request(
            "PUT",
            path,
            params=params,
            headers=headers,
            content=file.body(offset),
            timeout=_UPLOAD_TIMEOUT,
        )
        with understood(path):
            return str(object_in(response, path)["sha256"])

    def _arrived(self, path: str, params: dict[str, Any], lease: Lease) -> int:
        """Bytes that the service has already; none where it cannot tell."""
        with self._connections.use() as http:
            response = http.head(path, params=params, headers={FENCE: lease.fence})
        return int(response.headers.get("Upload-Offset", 0)) if response.is_success else 0

    def download(self, job_id: str, artifact_id: str, into: BinaryIO) -> None:
        """Writes an artifact's content, streamed, from the beginning of `into`."""
        into.seek(0)
        into.truncate()
        path = f"/v1/jobs/{job_id}/artifacts/{artifact_id}/content"
        with (
            self._connections.use() as http,
            http.stream("GET", path, timeout=_DOWNLOAD_TIMEOUT, follow_redirects=True) as response,
        ):
            if response.is_error:
                response.read()
            raise_refusal(response)
            for chunk in response.iter_bytes(_DOWNLOAD_BYTES):
                into.write(chunk)

    def finish(
        self,
        lease: Lease,
        verdict: Verdict,
        first: int = 1,
        events: Sequence[Event] = (),
        manifest: ManifestFile | None = None,
    ) -> None:
        """Ends the attempt; its last events, numbered from `first`, and its manifest are kept with
        that or not at all."""
        body: dict[str, Any] = {
            "reason": verdict.reason.value,
            "message": verdict.message,
            "summary": dict(verdict.summary),
        }
        if events:
            body.update(first=first, events=_told(events))
        timeout = TIMEOUT
        if manifest:
            timeout = _MANIFEST_TIMEOUT
            body["manifest"] = {
                "name": manifest.name,
                "media_type": manifest.media_type,
                "sha256": manifest.sha256,
                "base64": b64encode(manifest.content).decode(),
            }
        self._post(f"/v1/worker/attempts/{lease.attempt_id}/finish", body, lease, timeout)

    def _post(
        self,
        path: str,
        body: dict[str, Any],
        lease: Lease | None = None,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> dict[str, Any]:
        headers = {FENCE: lease.fence} if lease else {}
        response = self._request("POST", path, json=body, headers=headers, timeout=timeout)
        return object_in(response, path)

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._connections.use() as http:
            response = http.request(method, path, **options)
        raise_refusal(response)
        return response


def _told(events: Sequence[Event]) -> list[Any]:
    return [to_json(event) for event in packed(events)]


def _checkpoint(stored: Any) -> StoredCheckpoint:
    return StoredCheckpoint(
        artifact_id=str(stored["artifact_id"]),
        sha256=str(stored["sha256"]),
        size=int(stored["size"]),
        name=str(stored["name"]),
    )

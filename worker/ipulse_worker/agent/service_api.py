"""The worker routes of the service: one method for each request, one exception for each refusal.

Nothing is retried here; `retry_policy.retry_while_unavailable` retries after ServiceUnavailable.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, BinaryIO

import httpx

from ipulse.log_lines import packed
from ipulse.outgoing_file import OutgoingFile
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.events import Event
from ipulse_core.messages import FENCE_HEADER
from ipulse_core.registry.versions import VERSIONS
from ipulse_core.worker_faults import WorkerFault
from ipulse_worker.agent.connections import TIMEOUT, Connections
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.service_responses import object_in, raise_refusal, understood
from ipulse_worker.agent.service_types import (
    AgentHint,
    AgentOrders,
    CancelStatus,
    ClaimedJob,
    HeartbeatOrders,
    Inventory,
    PiggybackedManifest,
)

_NOTHING_KNOWN = Inventory()
_NO_REASONS: Mapping[str, str] = MappingProxyType({})
_HEARTBEAT_TIMEOUT = 7.0  # seconds; a second one fits into the lease
_LAST_TIMEOUT = httpx.Timeout(2.0)  # of the last request, for which nobody should wait
_MANIFEST_TIMEOUT = httpx.Timeout(10.0, connect=3.0, read=60.0)
_CHUNK_BYTES = 2**20
_DOWNLOAD_TIMEOUT = httpx.Timeout(60.0, connect=3.0)
# The service answers once the file is stored, and a bucket may be slow. Heartbeats detect a service
# that is down.
_UPLOAD_TIMEOUT = httpx.Timeout(60.0, connect=3.0, read=600.0)


class ServiceAPI:
    """A client of the worker routes; several threads may use it at once."""

    def __init__(self, url: str, token: str, trust: ssl.SSLContext | None = None) -> None:
        self._connections = Connections(url, token, trust)

    def close(self) -> None:
        """Refuse new calls; those in progress are completed."""
        self._connections.close()

    def claim(self, job_id: str, agent: str, device_kinds: Sequence[str], fence: str) -> ClaimedJob:
        """Claim the job for a new attempt. Raises NotClaimable or NotFound.

        `fence` is a random text of this claim: with the same one, it may be repeated.
        """
        sent_at = time.monotonic()
        request = {
            "job_id": job_id,
            "agent": agent,
            "device_kinds": list(device_kinds),
            "fence": fence,
            "spec_versions": list(VERSIONS),
        }
        answer = self._post("/v1/worker/claims", request)
        with understood("a claim"):
            return ClaimedJob.from_json(answer, sent_at)

    def register(
        self,
        agent: str,
        device_kinds: Sequence[str],
        quarantined: Sequence[str] = (),
        inventory: Inventory = _NOTHING_KNOWN,
        *,
        trouble: WorkerFault | None = None,
        quarantine_reasons: Mapping[str, str] = _NO_REASONS,
    ) -> AgentOrders:
        """Register this agent with its devices, those in quarantine, what it has, its trouble."""
        body = {
            "agent": agent,
            "device_kinds": list(device_kinds),
            "quarantined": list(quarantined),
            "host": inventory.host,
            "ipus": dict(inventory.ipus),
            "data_sets": None if inventory.data_sets is None else list(inventory.data_sets),
            **({"cached": list(inventory.cached)} if inventory.cached else {}),
            **(
                {"neuron_packages": list(inventory.neuron_packages)}
                if inventory.neuron_packages
                else {}
            ),
            **({"trouble": trouble.to_json()} if trouble else {}),
            "quarantine_reasons": dict(quarantine_reasons),
            "capabilities": dict(inventory.capabilities),
            "remarks": dict(inventory.remarks),
        }
        path = "/v1/worker/agents"
        response = self._connections.request("POST", path, json=body)
        if not response.content:  # there are no orders
            return AgentOrders()
        return AgentOrders.from_json(object_in(response, path))

    def sign_off(self, agent: str) -> None:
        """Tell the service that this agent stops."""
        self._connections.request(
            "POST", "/v1/worker/sign-off", json={"agent": agent}, timeout=_LAST_TIMEOUT
        )

    def renew_token(self) -> str:
        """Return another token for this agent; `use_token` switches to it."""
        path = "/v1/worker/token"
        answer = object_in(self._connections.request_once("POST", path, json={}), path)
        with understood("a renewal of the token"):
            return str(answer["token"])

    def renew_with(self, renew: Callable[[], None]) -> None:
        """Call a function that renews the token when the service says that it has expired."""
        self._connections.renew_with(renew)

    def use_token(self, token: str) -> None:
        """Send another token from now on."""
        self._connections.use_token(token)

    def wait_for_work(
        self, agent: str, device_kinds: Sequence[str], tag: str, wait_seconds: int
    ) -> AgentHint | None:
        """Wait until there may be work for these kinds; return None if nothing has changed.

        `tag` is that of the last hint; with an empty one the service answers at once.
        """
        path = "/v1/worker/wakeups"
        headers = {"Prefer": f"wait={wait_seconds}"}
        if tag:
            headers["If-None-Match"] = tag
        response = self._connections.request(
            "GET",
            path,
            params={"agent": agent, "kind": list(device_kinds)},
            headers=headers,
            timeout=httpx.Timeout(wait_seconds + 10.0, connect=3.0),
        )
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return None
        answer = object_in(response, path)
        with understood("a wait for work"):
            return AgentHint.from_json(answer, response.headers.get("etag", ""))

    def heartbeat(self, lease: AttemptLease) -> HeartbeatOrders:
        """Renew the lease; return whether the attempt is to stop."""
        sent_at = time.monotonic()
        # An answer after the end of the lease would come too late.
        longest = _HEARTBEAT_TIMEOUT
        if not lease.may_expire:
            longest = min(longest, max(lease.seconds_left(), 0.1))
        path = f"/v1/worker/attempts/{lease.attempt_id}/heartbeat"
        answer = self._post(path, {}, lease, httpx.Timeout(longest))
        with understood("a heartbeat"):
            lease.renew(float(answer["lease_seconds"]), sent_at)
            return HeartbeatOrders(
                cancel=bool(answer["cancel"]),
                finish=bool(answer.get("finish")),
                must_return=bool(answer.get("must_return")),
            )

    def cancel_status(self, lease: AttemptLease, wait_seconds: int) -> CancelStatus:
        """Ask whether the attempt is to be cancelled; the service may wait before it answers."""
        path = f"/v1/worker/attempts/{lease.attempt_id}"
        response = self._connections.request(
            "GET",
            path,
            headers={FENCE_HEADER: lease.fence, "Prefer": f"wait={wait_seconds}"},
            timeout=httpx.Timeout(wait_seconds + 10.0, connect=3.0),
        )
        answer = object_in(response, path)
        with understood("a cancel poll"):
            return CancelStatus(
                cancel=bool(answer["cancel"]),
                finish=bool(answer.get("finish")),
                was_delayed="Preference-Applied" in response.headers,
            )

    def send_events(self, lease: AttemptLease, first: int, events: Sequence[Event]) -> int:
        """Send events numbered from `first`; return the number that the service expects next."""
        body = {"first": first, "events": _packed_json(events)}
        answer = self._post(f"/v1/worker/attempts/{lease.attempt_id}/events", body, lease)
        with understood("events"):
            return int(answer["next"])

    def finish(
        self,
        lease: AttemptLease,
        outcome: AttemptOutcome,
        first: int = 1,
        events: Sequence[Event] = (),
        manifest: PiggybackedManifest | None = None,
    ) -> None:
        """End the attempt with its outcome, its last events (numbered from `first`) and manifest.

        The service stores all of them or none.
        """
        body: dict[str, Any] = {
            "reason": outcome.reason.value,
            "message": outcome.message,
            "summary": dict(outcome.summary),
        }
        if outcome.lacking:
            body["lacking"] = dict(outcome.lacking)
        if events:
            body.update(first=first, events=_packed_json(events))
        if manifest:
            body["manifest"] = manifest.to_json()
        timeout = _MANIFEST_TIMEOUT if manifest else TIMEOUT
        self._post(f"/v1/worker/attempts/{lease.attempt_id}/finish", body, lease, timeout)

    def upload(
        self, lease: AttemptLease, file: OutgoingFile, *, name: str, role: str, media_type: str
    ) -> str:
        """Upload the rest of the file; return the SHA-256 of what is stored."""
        path = f"/v1/worker/attempts/{lease.attempt_id}/artifacts/{name}"
        params = {
            "role": role,
            "media_type": media_type,
            "size": file.size,
            "sha256": file.sha256,
        }
        offset = self._arrived(path, params, lease) if file.is_resumable else 0
        headers = {FENCE_HEADER: lease.fence, "Content-Length": str(file.size - offset)}
        if offset:
            headers["Upload-Offset"] = str(offset)
        response = self._connections.request(
            "PATCH" if offset else "PUT",
            path,
            params=params,
            headers=headers,
            content=file.body(offset),
            timeout=_UPLOAD_TIMEOUT,
        )
        with understood(path):
            return str(object_in(response, path)["sha256"])

    def _arrived(self, path: str, params: dict[str, Any], lease: AttemptLease) -> int:
        """Return how many bytes the service has already, 0 if it does not know."""
        with self._connections.use() as http:
            response = http.head(path, params=params, headers={FENCE_HEADER: lease.fence})
        return int(response.headers.get("Upload-Offset", 0)) if response.is_success else 0

    def download(self, job_id: str, artifact_id: str, into: BinaryIO) -> None:
        """Download an artifact into a file, from the file's beginning."""
        self._download(f"/v1/jobs/{job_id}/artifacts/{artifact_id}/content", {}, into)

    def download_start_file(self, lease: AttemptLease, into: BinaryIO) -> None:
        """Download the file that the job starts from into a file, from the file's beginning."""
        headers = {FENCE_HEADER: lease.fence}
        self._download(f"/v1/worker/attempts/{lease.attempt_id}/start-file", headers, into)

    def download_op(self, lease: AttemptLease, sha256: str, into: BinaryIO) -> None:
        """Download the package of a custom op into a file, from the file's beginning."""
        headers = {FENCE_HEADER: lease.fence}
        self._download(f"/v1/worker/attempts/{lease.attempt_id}/ops/{sha256}", headers, into)

    def download_dataset(
        self, lease: AttemptLease, into: BinaryIO, on_chunk: Callable[[], None]
    ) -> None:
        """Download the rest of the data set of the attempt's job to the end of a file.

        `on_chunk` is called after each piece and may raise to stop.
        """
        offset = into.seek(0, os.SEEK_END)
        headers = {FENCE_HEADER: lease.fence}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        with self._stream(f"/v1/worker/attempts/{lease.attempt_id}/dataset", headers) as response:
            if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # all of it was there
            raise_refusal(response)
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                into.seek(0)
                into.truncate()
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                into.write(chunk)
                on_chunk()

    def _download(self, path: str, headers: dict[str, str], into: BinaryIO) -> None:
        into.seek(0)
        into.truncate()
        with self._stream(path, headers) as response:
            raise_refusal(response)
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                into.write(chunk)

    @contextmanager
    def _stream(self, path: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Yield a response; the content of an error is read already."""
        with (
            self._connections.use() as http,
            http.stream(
                "GET", path, headers=headers, timeout=_DOWNLOAD_TIMEOUT, follow_redirects=True
            ) as response,
        ):
            if response.is_error:
                response.read()
            yield response

    def _post(
        self,
        path: str,
        body: dict[str, Any],
        lease: AttemptLease | None = None,
        timeout: httpx.Timeout = TIMEOUT,
    ) -> dict[str, Any]:
        headers = {FENCE_HEADER: lease.fence} if lease else {}
        response = self._connections.request(
            "POST", path, json=body, headers=headers, timeout=timeout
        )
        return object_in(response, path)


def _packed_json(events: Sequence[Event]) -> list[Any]:
    return [event.to_json() for event in packed(events)]

"""A job's event stream across disconnections, without gaps and duplicates."""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from ipulse.client.transport.problems import error_in
from ipulse.client.transport.retries import RetryPolicy
from ipulse.client.transport.server_sent_events import Decoder, ServerSentEvent
from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, RemoteError

from .calls import events_path
from .resources import JobEvent

# Longer than the interval of the service's pings: a stream without data for so long is dead.
SILENCE_SECONDS = 45.0


class Watch:
    """The event stream of one job: the next request, and the events of the responses.

    The service numbers events from 1. After a disconnection the stream is requested from the last
    received number on.
    """

    def __init__(self, job_id: str, after: int, retries: RetryPolicy) -> None:
        self.path = events_path(job_id)
        self._ended = False
        self._last = after
        self._last_id = str(after)  # as sent by the service, it also identifies the database
        self._retries = retries
        self._decoder = Decoder()

    def has_ended(self) -> bool:
        """Return whether the service has ended the stream."""
        return self._ended

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the next request."""
        return {"Accept": "text/event-stream", "Last-Event-ID": self._last_id}

    def opened(self, response: httpx.Response) -> float | None:
        """Check the status of a response; the body of an error must have been read.

        Returns None for a stream, else the seconds until the next try. Raises the error that the
        response reports.
        """
        delay = self._retries.after_answer(response)
        if delay is not None:
            return delay
        if response.status_code >= 400:
            raise error_in(response)
        media_type = response.headers.get("content-type", "").split(";")[0].strip()
        if response.status_code != 200 or media_type != "text/event-stream":
            raise RemoteError("the service does not stream events", status=response.status_code)
        self._decoder = Decoder()  # discards a partial event of the last stream
        return None

    def feed(self, chunk: bytes) -> Iterator[JobEvent]:
        """Yield the new events that this chunk completes."""
        try:
            for event in self._decoder.feed(chunk):
                job_event = self._take(event)
                if job_event is not None:
                    yield job_event
        except (InvalidJSON, KeyError, TypeError, ValueError) as error:
            raise RemoteError(
                "the service streams events that this client cannot read: "
                "do both have the same version?"
            ) from error

    def interrupted(self, error: httpx.TransportError | None) -> float:
        """Return the seconds until the next try. Raises Unavailable after too many failures."""
        return self._retries.after_error(error)

    def _take(self, event: ServerSentEvent) -> JobEvent | None:
        if event.kind == "end":
            self._ended = True
            return None
        job_event = JobEvent.from_json(strict_json.loads(event.data))
        if job_event.seq <= self._last:
            return None
        self._last, self._last_id = job_event.seq, event.id or str(job_event.seq)
        self._retries.progressed()
        return job_event

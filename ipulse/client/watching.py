"""Following a job's events across disconnections, without gap and without repetition."""

from __future__ import annotations

from typing import Dict, Iterator, Optional

import httpx

from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON, RemoteError

from .calls import events_path
from .problems import error_in
from .resources import JobEvent
from .retries import Retries
from .server_sent_events import Decoder, ServerSentEvent

# Longer than any pause between the service's pings: a stream silent for so long is dead.
SILENCE_SECONDS = 45.0


class Watch:
    """One job's event stream: what to ask for, what came, and what to do when it breaks off.

    The service numbers events from 1; after a break the stream is asked for from the last
    number seen.
    """

    def __init__(self, job_id: str, after: int, retries: Retries) -> None:
        self.path = events_path(job_id)
        self._ended = False
        self._last = after
        self._last_id = str(after)  # as the service gave it, it also tells which history it is of
        self._retries = retries
        self._decoder = Decoder()

    def has_ended(self) -> bool:
        """Whether the service said that no more events will come."""
        return self._ended

    @property
    def headers(self) -> Dict[str, str]:
        return {"Accept": "text/event-stream", "Last-Event-ID": self._last_id}

    def opened(self, response: httpx.Response) -> Optional[float]:
        """Looks at the answer's status; a refusal must have been read.

        Returns None for a stream, else the seconds to wait before the next try. Raises what a
        refusal stands for.
        """
        delay = self._retries.after_answer(response)
        if delay is not None:
            return delay
        if response.status_code >= 400:
            raise error_in(response)
        media_type = response.headers.get("content-type", "").split(";")[0].strip()
        if response.status_code != 200 or media_type != "text/event-stream":
            raise RemoteError("the service does not stream events", status=response.status_code)
        self._decoder = Decoder()  # half an event of the last stream is not continued
        return None

    def feed(self, chunk: bytes) -> Iterator[JobEvent]:
        """The new events that this chunk completes."""
        try:
            for event in self._decoder.feed(chunk):
                found = self._take(event)
                if found is not None:
                    yield found
        except (InvalidJSON, KeyError, TypeError, ValueError) as error:
            raise RemoteError(
                "the service streams something this client does not understand: "
                "are both of the same version?"
            ) from error

    def interrupted(self, error: Optional[httpx.TransportError]) -> float:
        """Seconds to wait before going on. Raises Unavailable after too many fruitless tries."""
        return self._retries.after_error(error)

    def _take(self, event: ServerSentEvent) -> Optional[JobEvent]:
        if event.kind == "end":
            self._ended = True
            return None
        found = JobEvent.from_json(strict_json.loads(event.data))
        if found.seq <= self._last:
            return None
        self._last, self._last_id = found.seq, event.id or str(found.seq)
        self._retries.progressed()
        return found

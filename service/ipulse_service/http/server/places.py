"""Places of submissions: few are handled at once, and none while its body is still on its way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from starlette.types import Message, Receive

from ipulse_core.errors import Unavailable
from ipulse_service.http.problems import TooSlow

# More threads that check specs and write would keep the interpreter from agents.
SUBMISSIONS_AT_ONCE = 4
BODY_SECONDS = 60.0  # that a submission may let the service wait for its body, all in all


class Overloaded(Unavailable):
    """The service has more submissions in progress than it can handle; send this one later."""

    code = "overloaded"


class Places:
    """Admits submissions whose body has arrived; a client that sends slowly delays nobody.

    The application asks for the body only after it has checked the token.
    """

    def __init__(self, max_submissions: int) -> None:
        self._max_submissions = max_submissions
        self._in_progress = 0
        self._free = asyncio.Semaphore(SUBMISSIONS_AT_ONCE)

    @property
    def are_taken(self) -> bool:
        """True if no other submission is admitted, not even to wait."""
        return self._in_progress >= self._max_submissions

    @asynccontextmanager
    async def admitting(self, receive: Receive, needs_place: bool) -> AsyncIterator[Receive]:
        """Yields what receives the body of a submission.

        Its last part comes when there is a place, which is kept while the context is open.

        Args:
            receive: Receives from the client. What is yielded also raises TooSlow if the client
                takes too long, and Overloaded if too many submissions are in progress.
            needs_place: False for one that waits elsewhere: it is only counted.
        """
        patience = BODY_SECONDS
        has_arrived = False

        async def receive_body() -> Message:
            nonlocal patience, has_arrived
            if has_arrived:
                return await receive()
            began = time.monotonic()
            try:
                # A part that is there already is returned, however little patience is left.
                async with asyncio.timeout(patience):
                    message = await receive()
            except TimeoutError:
                raise TooSlow(
                    f"the body did not arrive within {BODY_SECONDS:g} s; send it without pauses"
                ) from None
            patience -= time.monotonic() - began  # the service's own pauses do not count
            if message["type"] == "http.request" and not message.get("more_body", False):
                has_arrived = True
                held.enter_context(self._counted())
                if needs_place:
                    await held.enter_async_context(self._free)
            return message

        async with AsyncExitStack() as held:
            yield receive_body

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self.are_taken:
            raise Overloaded()
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

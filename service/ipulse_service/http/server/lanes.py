"""Two event loops in two threads: one for agents and probes, the other for everything else.

What blocks the second for a while does not keep a heartbeat waiting. Each has threads of its own
for the routes that are no coroutines. Requests arrive on the first, which checks the tokens and
refuses the requests of a caller that sends too many. Few submissions are handled at once, and none
while its body is still on its way.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import (
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ipulse_core.errors import Unavailable
from ipulse_service.background.listening_time import ListeningTime
from ipulse_service.http import problems
from ipulse_service.http.metrics import Metrics
from ipulse_service.http.problems import TooSlow
from ipulse_service.http.server import accept_queue
from ipulse_service.http.server.loop_lag import LoopLag

# Each may need a connection to the database: see `ipulse_service/db`.
WORKER_THREADS = 12
# SQLite hands the interpreter over at each row that is read. More threads spend their time on that:
# with 22 of them and 50 lists a second a submission took 0.4 s, with 10 of them 0.015 s.
USER_THREADS = 10
TOKEN_THREADS = 2  # read the tokens of users for the event loop of agents
# More threads that check specs and write would keep the interpreter from agents.
SUBMISSIONS_AT_ONCE = 4
AT_ONCE = 2  # requests of one caller that are in threads: its others wait, and keep nobody waiting
BODY_SECONDS = 60.0  # that a submission may let the service wait for its body, all in all
SHED_SECONDS = 5.0  # of lag, after which no submission is accepted

_WORKER_PREFIX = "/v1/worker/"
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_HEARTBEAT = re.compile(r"/v1/worker/attempts/[^/]+/heartbeat")
_IMPORT = "/v1/jobs:import"
_SUBMISSION = re.compile(
    r"/v1/jobs|/v1/jobs:(batch|import|plan|validate)|/v1/jobs/[^/]+/continue|/v1/sweeps"
)

T = TypeVar("T")


class Overloaded(Unavailable):
    """The service has more submissions in progress than it can handle; send this one later."""

    code = "overloaded"


class CallerTurns:
    """Lets AT_ONCE requests of each caller pass; its others wait in line, on one event loop."""

    def __init__(self) -> None:
        self._semaphores = WeakValueDictionary[str, asyncio.Semaphore]()  # that are in use

    def turn(self, caller: str) -> asyncio.Semaphore:
        """Returns the semaphore of a caller."""
        return self._semaphores.setdefault(caller, asyncio.Semaphore(AT_ONCE))


class Places:
    """Admits submissions whose body has arrived; a client that sends slowly delays nobody.

    The application asks for the body only after it has checked the token.
    """

    def __init__(self, max_submissions: int) -> None:
        self._max_submissions = max_submissions
        self._in_progress = 0
        self._free = asyncio.Semaphore(SUBMISSIONS_AT_ONCE)
        self._turns = CallerTurns()

    @property
    def are_taken(self) -> bool:
        """True if no other submission is admitted, not even to wait."""
        return self._in_progress >= self._max_submissions

    @asynccontextmanager
    async def admitting(
        self, caller: str, receive: Receive, needs_place: bool
    ) -> AsyncIterator[Receive]:
        """Yields what receives the body of a submission.

        Its last part comes when there is a place, which is kept while the context is open.

        Args:
            caller: The name of the caller, whose other submissions may have to end first.
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
                    await held.enter_async_context(self._turns.turn(caller))
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


class Lanes:
    """The two event loops; requests arrive on that of agents."""

    def __init__(self, listening_time: ListeningTime, metrics: Metrics) -> None:
        self.listening_time = listening_time
        self._worker_lag = LoopLag("worker", metrics.loop_lag("worker"))
        self._user_lag = LoopLag("user", metrics.loop_lag("user"))
        self._user_loop: asyncio.AbstractEventLoop | None = None
        self.endpoint_turns = CallerTurns()  # of the loop of users
        self.listeners: Sequence[accept_queue.Listener] = ()  # those of the server
        self._started = threading.Event()
        self._ended: asyncio.Event | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the loop of users while the context is open; the present one is that of agents."""
        to_thread.current_default_thread_limiter().total_tokens = WORKER_THREADS
        token_threads = ThreadPoolExecutor(TOKEN_THREADS, "tokens")
        asyncio.get_running_loop().set_default_executor(token_threads)  # of asyncio.to_thread
        thread = threading.Thread(target=self._run_user_loop, name="user-lane")
        thread.start()
        await asyncio.to_thread(self._started.wait)
        measuring = asyncio.create_task(self._worker_lag.measure(self._turn))
        try:
            yield
        finally:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring
            self.listening_time.end_turns()
            self._end_user_loop()
            await asyncio.to_thread(thread.join)

    def _turn(self) -> None:
        waiting = sum(map(accept_queue.waiting, self.listeners))
        self.listening_time.turn(waiting, sum(each.accepted for each in self.listeners))

    def user_lag(self) -> float:
        """Returns for how many seconds requests of users lie unread."""
        return self._user_lag.seconds()

    async def run_for_user(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the application on the loop of users."""
        worker_loop, user_loop = asyncio.get_running_loop(), self._user_loop
        assert user_loop  # noqa: S101 - requests come while `running` is open

        held: list[Message] = []  # the beginning of the response, sent with its first part
        sending: Future[None] | None = None

        async def receive_there() -> Message:
            return await _on(worker_loop, receive())

        async def send_there(message: Message) -> None:
            nonlocal held, sending
            held.append(message)
            if message["type"] == "http.response.start":
                return
            messages, held = held, []
            sending = asyncio.run_coroutine_threadsafe(_send_all(send, messages), worker_loop)
            if message.get("more_body", False):
                await asyncio.wrap_future(sending)  # a slow client slows its stream

        await _on(user_loop, app(scope, receive_there, send_there))
        if sending is not None:
            await asyncio.wrap_future(sending)

    def _run_user_loop(self) -> None:
        asyncio.run(self._serve_users())

    def _end_user_loop(self) -> None:
        if self._user_loop is not None and self._ended is not None:
            self._user_loop.call_soon_threadsafe(self._ended.set)

    async def _serve_users(self) -> None:
        to_thread.current_default_thread_limiter().total_tokens = USER_THREADS
        self._ended = asyncio.Event()
        self._user_loop = asyncio.get_running_loop()
        measuring = asyncio.create_task(self._user_lag.measure())
        self._started.set()
        await self._ended.wait()
        measuring.cancel()  # as all others, when this loop ends


class HeartbeatMiddleware:
    """Records how long heartbeats wait for their answers, with the check of their tokens."""

    def __init__(self, app: ASGIApp, listening_time: ListeningTime) -> None:
        self._app = app
        self._listening_time = listening_time

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""
        is_heartbeat = _HEARTBEAT.fullmatch(scope.get("path", ""))
        with self._listening_time.answering() if is_heartbeat else nullcontext():
            await self._app(scope, receive, send)


class LaneMiddleware:
    """Passes each request on in its lane, and refuses submissions when there are too many.

    Most that it refuses have not touched the loop of users; a submission whose body arrives after
    those of too many others is refused then.
    """

    def __init__(self, app: ASGIApp, lanes: Lanes, max_submissions: int) -> None:
        self._app = app
        self._lanes = lanes
        self._places = Places(max_submissions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or is_of_agents(path):
            await self._app(scope, receive, send)
            return
        if not is_submission(scope["method"], path):
            await self._lanes.run_for_user(self._app, scope, receive, send)
            return
        if self._places.are_taken or self._lanes.user_lag() > SHED_SECONDS:
            await problems.response(path, Overloaded())(scope, receive, send)
            return
        # An import waits for its turn at the reader of archives, and others not for that.
        name = scope["state"]["caller"].name
        needs_place = path != _IMPORT
        async with self._places.admitting(name, receive, needs_place) as receive_body:
            await self._lanes.run_for_user(self._app, scope, receive_body, send)


def is_of_agents(path: str) -> bool:
    """Returns whether agents or probes ask for a path: requests of users never delay these."""
    return path.startswith(_WORKER_PREFIX) or path in _PROBES


def is_submission(method: str, path: str) -> bool:
    """Returns whether a request adds jobs, or is checked like one that does."""
    return method == "POST" and _SUBMISSION.fullmatch(path) is not None


async def _send_all(send: Send, messages: Sequence[Message]) -> None:
    for message in messages:
        await send(message)


async def _on(loop: asyncio.AbstractEventLoop, awaitable: Awaitable[T]) -> T:
    """Awaits on another loop; a cancellation is passed on."""

    async def wait() -> T:
        return await awaitable

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(wait(), loop))

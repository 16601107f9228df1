"""Agents that claim one job at once or wake past a lease, two services that expire one lease."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import httpx

from ipulse.agent_tokens import token_of
from ipulse.key_file import key_in
from ipulse.stack.managed_process import ManagedProcess
from ipulse.stack.program_log import ProgramLog
from ipulse_core import messages
from ipulse_service.selftest.fault_outcome import FaultOutcome, PromiseBroken
from ipulse_service.selftest.processes import signal_tree
from ipulse_service.selftest.testbed import Testbed, milliseconds

ROUNDS = 3
START_SECONDS = 60.0
STOPPED_SECONDS = 5.0  # longer than the lease


def split_brain(testbed: Testbed, random: Random, lease_seconds: float) -> Iterator[FaultOutcome]:
    """Lets agents race for a job; the winner stops, and its late requests must be refused.

    Raises PromiseBroken for a race with two winners, or a word that was believed after the lease.
    """
    replica = ManagedProcess(
        "service-2", "ipulse_service", ProgramLog(testbed.home / "logs" / "service-2.log")
    )
    home = testbed.home / "service-2"
    home.mkdir(mode=0o700)
    environment = testbed.stack.service_environment(IPULSE_HOME=str(home), IPULSE_PORT="0")
    replica.start(environment, testbed.home)
    try:
        urls = [testbed.stack.url, _url_of(replica, home)]
        claims: list[dict[str, str]] = []
        for _ in range(ROUNDS):
            at = milliseconds()
            winners = _race(testbed, urls)
            claims += winners
            if winners:
                struck = tuple(winner["attempt_id"] for winner in winners)
                yield FaultOutcome("two agents, two reapers", at, struck, is_aimed=True)
        time.sleep(lease_seconds + 3.0)
        for claim in claims:
            _check_refused(testbed, urls, claim)
    finally:
        replica.stop(START_SECONDS)


def _race(testbed: Testbed, urls: list[str]) -> list[dict[str, str]]:
    """Claims the same queued job from several agents at once, at both services.

    Each is given another one or none.
    """
    deadline = time.monotonic() + 2.0
    queued = testbed.records.queued()
    while not queued and time.monotonic() < deadline:
        queued = testbed.records.queued()
    if not queued:
        return []

    def claim(number: int) -> dict[str, str] | None:
        agent = f"rival-{number}"
        body = {"job_id": queued[-1], "agent": agent, "device_kinds": ["cpu"]}
        response = _ask(testbed, urls[number % 2], "/v1/worker/claims", agent, body)
        won = response.status_code == 200
        return {**response.json(), "agent": agent} if won else None

    with ThreadPoolExecutor(max_workers=4) as threads:
        winners = [one for one in threads.map(claim, range(4)) if one]
    given = [winner["job_id"] for winner in winners]
    if len(set(given)) < len(given):
        raise PromiseBroken(f"two of {len(given)} agents were given one job: {', '.join(given)}")
    return winners


def _check_refused(testbed: Testbed, urls: list[str], claim: dict[str, str]) -> None:
    path = f"/v1/worker/attempts/{claim['attempt_id']}/finish"
    body = {"reason": "completed", "message": "", "summary": {}}
    for url in urls:
        status = _ask(testbed, url, path, claim["agent"], body, claim["fence"]).status_code
        if status != httpx.codes.CONFLICT:
            raise PromiseBroken(
                f"a request of {claim['attempt_id']} after its lease was answered {status}"
            )


def _ask(
    testbed: Testbed,
    url: str,
    path: str,
    agent: str,
    body: Mapping[str, object],
    fence: str = "",
) -> httpx.Response:
    key = key_in(testbed.home / "agent-key")
    headers = messages.agent_headers(token_of(key, agent))
    if fence:
        headers[messages.FENCE_HEADER] = fence
    return httpx.post(url + path, json=body, headers=headers, timeout=30.0, trust_env=False)


def _url_of(replica: ManagedProcess, home: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    announcement = home / "server.json"
    while not announcement.exists():
        replica.check_alive()
        if time.monotonic() > deadline:
            raise PromiseBroken(f"the second service did not start:\n{replica.log.tail()}")
        time.sleep(0.05)
    url: str = json.loads(announcement.read_text())["url"]
    return url


def stop_agent(testbed: Testbed, random: Random, lease_seconds: float) -> Iterator[FaultOutcome]:
    """Suspends an agent and its runner past the lease; they wake when another has the job."""
    busy = [name for name in testbed.agents if testbed.held_by(name)]
    name = random.choice(busy or testbed.agents)
    at = milliseconds()
    held = testbed.held_by(name)
    signal_tree(testbed.pid(name), signal.SIGSTOP)
    try:
        held += testbed.held_by(name)  # also what it claimed in between
        time.sleep(lease_seconds + STOPPED_SECONDS)
    finally:
        signal_tree(testbed.pid(name), signal.SIGCONT)
    struck = tuple({one.id for one in held})
    yield FaultOutcome("stop agent past its lease", at, struck, is_aimed=True)

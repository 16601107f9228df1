"""Sends requests all the time, also without rights, and checks the answers."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx

from ipulse_core.repeating_thread import RepeatingThread

PAUSE_SECONDS = 0.1
TIMEOUT_SECONDS = 60.0  # a locked database delays an answer, which must come in the end
PATHS = ("/v1/jobs?page_size=3", "/v1/jobs/{job}", "/v1/jobs/{job}/events?limit=5")
STRANGER = "stranger"  # a person without a role in any project
DAY_SECONDS = 86_400
ROUNDS = 5  # of these requests, before those without the rights
# What is sent without the rights for it, and how it must be answered.
REFUSED = (
    ("nobody", "GET", "/v1/jobs/{job}", 401),
    (STRANGER, "GET", "/v1/jobs/{job}", 404),
    (STRANGER, "GET", "/v1/jobs/{job}/events", 404),
    (STRANGER, "POST", "/v1/jobs/{job}/cancel", 404),
    ("reader", "POST", "/v1/jobs/{job}/cancel", 403),
)


class Probe:
    """A thread that sends requests. A refused or cut connection does not count as an answer."""

    def __init__(self, url: str, token_file: Path) -> None:
        headers = {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        self._client = httpx.Client(
            base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )
        self._job = ""
        self._rounds = 0
        self._tokens: dict[str, str] = {}  # of those without the rights
        self._thread = RepeatingThread("probe", self._ask)
        self._broken: set[str] = set()
        self.statuses: Counter[int] = Counter()

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()
        self._client.close()

    @property
    def broken(self) -> list[str]:
        """Returns a sentence for each answer that is not allowed."""
        return sorted(self._broken)

    def _ask(self) -> float:
        for path in PATHS if self._job else PATHS[:1]:
            try:
                answer = self._client.get(path.format(job=self._job))
            except httpx.TransportError:
                continue
            self._look_at(answer, path)
            if path == PATHS[0] and answer.status_code == 200 and answer.json()["jobs"]:
                self._job = answer.json()["jobs"][0]["id"]
        self._rounds += 1
        if self._job and self._rounds % ROUNDS == 0:
            with suppress(httpx.TransportError):
                self._ask_without_rights()
        return PAUSE_SECONDS

    def _ask_without_rights(self) -> None:
        """Asks as nobody, as a person who sees no job, and with a token that only reads."""
        self._tokens = self._tokens or self._issued()
        if not self._tokens:
            return
        for who, method, path, expected in REFUSED:
            answer = self._send(who, method, path.format(job=self._job))
            self._look_at(answer, f"{method} {path} by {who}", expected)
        answer = self._send(STRANGER, "GET", "/v1/jobs")
        self._look_at(answer, f"GET /v1/jobs by {STRANGER}")
        if answer.status_code == 200 and answer.json()["jobs"]:
            self._broken.add(f"jobs were listed to {STRANGER}, who may see none")

    def _send(self, who: str, method: str, path: str) -> httpx.Response:
        token = self._tokens.get(who, "none")
        return self._client.request(method, path, headers={"Authorization": f"Bearer {token}"})

    def _issued(self) -> dict[str, str]:
        """Returns new tokens, or none if a fault keeps the service from making them."""
        self._client.post("/v1/users", json={"name": STRANGER})  # it may be there already
        token = {"name": "probe", "seconds": DAY_SECONDS}
        wanted = {STRANGER: {**token, "user": STRANGER}, "reader": {**token, "scopes": ["read"]}}
        made = {who: self._client.post("/v1/tokens", json=body) for who, body in wanted.items()}
        if any(answer.status_code != 201 for answer in made.values()):
            return {}
        return {who: answer.json()["token"] for who, answer in made.items()}

    def _look_at(self, answer: httpx.Response, path: str, expected: int = 200) -> None:
        status = answer.status_code
        self.statuses[status] += 1
        if status < 500:
            if status != expected:
                self._broken.add(f"{path} of a job that was listed was answered {status}")
            return
        if status != 503:
            self._broken.add(f"{path} was answered {status}: {answer.text[:200]}")
        elif "retry-after" not in answer.headers:
            self._broken.add(f"{path} was answered 503 without Retry-After")

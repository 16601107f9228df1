"""Sends requests all the time and checks the status codes of the answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import httpx

from ipulse_core.repeating_thread import RepeatingThread

PAUSE_SECONDS = 0.1
TIMEOUT_SECONDS = 60.0  # a locked database delays an answer, which must come in the end
PATHS = ("/v1/jobs?page_size=3", "/v1/jobs/{job}", "/v1/jobs/{job}/events?limit=5")


class Probe:
    """A thread that sends requests. A refused or cut connection does not count as an answer."""

    def __init__(self, url: str, token_file: Path) -> None:
        headers = {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        self._client = httpx.Client(
            base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )
        self._job = ""
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
        return PAUSE_SECONDS

    def _look_at(self, answer: httpx.Response, path: str) -> None:
        status = answer.status_code
        self.statuses[status] += 1
        if status < 500:
            if status != 200:
                self._broken.add(f"{path} of a job that was listed was answered {status}")
            return
        if status != 503:
            self._broken.add(f"{path} was answered {status}: {answer.text[:200]}")
        elif "retry-after" not in answer.headers:
            self._broken.add(f"{path} was answered 503 without Retry-After")

"""Sends requests all the time and checks the status codes of the answers."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import httpx

PAUSE_SECONDS = 0.1
TIMEOUT_SECONDS = 60.0  # a locked database delays an answer, which must come in the end
PATHS = ("/v1/jobs?page_size=3", "/v1/jobs/{job}", "/v1/jobs/{job}/events?limit=5")


class Probe:
    """A thread that sends requests. A refused or cut connection does not count as an answer."""

    def __init__(self, url: str, token_file: Path) -> None:
        self._url = url
        self._token_file = token_file
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._broken: set[str] = set()
        self.statuses: Counter[int] = Counter()

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def broken(self) -> list[str]:
        """Returns a sentence for each answer that is not allowed."""
        return sorted(self._broken)

    def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self._token_file.read_text().strip()}"}
        client = httpx.Client(
            base_url=self._url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )
        job = ""
        with client:
            while not self._stopping.is_set():
                for path in PATHS if job else PATHS[:1]:
                    try:
                        answer = client.get(path.format(job=job))
                    except httpx.TransportError:
                        continue
                    self._look_at(answer, path)
                    if path == PATHS[0] and answer.status_code == 200 and answer.json()["jobs"]:
                        job = answer.json()["jobs"][0]["id"]
                self._stopping.wait(PAUSE_SECONDS)

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

"""Submits jobs to a stack continuously and records which were accepted."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

from ipulse.client import Connection
from ipulse_core.errors import Conflict, NotFound, RemoteError, Unavailable
from ipulse_service.selftest.records import Records

PAUSE_SECONDS = 0.05
CANCELLED_SHARE = 0.04  # of the jobs, at random times
LAST_SECONDS = 60.0  # limit of the wait for the answers to the last submissions


class Load:
    """Threads that submit jobs, each with its own client."""

    def __init__(
        self,
        url: str,
        token_file: Path,
        records: Records,
        template: dict[str, Any],
        seed: int,
        waiting: int,
        varies: bool,
        threads: int = 2,
    ) -> None:
        """`template` is the spec; `waiting` is the number of jobs to keep queued."""
        self._url = url
        self._token_file = token_file
        self._records = records
        self._template = template
        self._waiting = waiting
        self._varies = varies
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._changing = threading.Lock()
        self.accepted: dict[str, str] = {}  # ids by idempotency key
        self.cancelled: set[str] = set()
        self.unanswered: list[str] = []  # keys of submissions without an answer
        self._threads = [
            threading.Thread(target=self._run, args=(number, Random(f"{seed} {number}")))
            for number in range(threads)
        ]

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Returns once every submission has its answer."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def submit(self, client: Connection, key: str, spec: dict[str, Any]) -> str:
        """Submits until there is an answer, always with the same idempotency key."""
        deadline = time.monotonic() + LAST_SECONDS
        while True:
            try:
                job = client.submit(spec, key)
            except (Unavailable, RemoteError):
                # The answer must come during the run or shortly after.
                if not self._stopping.is_set():
                    deadline = time.monotonic() + LAST_SECONDS
                if time.monotonic() > deadline:
                    with self._changing:
                        self.unanswered.append(key)
                    raise
                time.sleep(PAUSE_SECONDS)
                continue
            with self._changing:
                self.accepted[key] = job.id
            return job.id

    def spec(self, name: str, seed: int, **orders: str) -> dict[str, Any]:
        """Returns a spec with a name, a seed and orders for the scripted runner."""
        metadata = {**self._template.get("metadata", {}), **orders}
        seed = seed if self._varies else 1
        return {**self._template, "name": name, "seed": seed, "metadata": metadata}

    def check(self) -> None:
        """Raises the exception that ended a thread, if any: without load the run proves nothing."""
        if self._failure:
            raise self._failure

    def _run(self, number: int, random: Random) -> None:
        try:
            self._submit_on(number, random)
        except Exception as error:  # noqa: BLE001 - raised again by `check` in the main thread
            self._failure = error

    def _submit_on(self, number: int, random: Random) -> None:
        count = 0
        with Connection(self._url, token_file=self._token_file, retries=2) as client:
            while not self._stopping.is_set():
                if len(self._records.queued()) >= self._waiting:
                    self._stopping.wait(PAUSE_SECONDS)
                    continue
                count += 1
                name = f"load-{number}-{count}"
                job_id = self.submit(client, name, self.spec(name, count))
                if random.random() < CANCELLED_SHARE:
                    self._stopping.wait(random.random())
                    self._cancel(client, job_id)

    def _cancel(self, client: Connection, job_id: str) -> None:
        with self._changing:
            self.cancelled.add(job_id)  # it may take effect although no answer comes
        try:
            client.job(job_id).cancel()
        except (Unavailable, RemoteError, Conflict, NotFound):
            return

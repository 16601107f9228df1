"""One of each resource of a service."""

from __future__ import annotations

from dataclasses import dataclass

from tests.service.agents import Attempt

CONTENT = b"0123456789"


@dataclass(frozen=True)
class Resources:
    """Every resource of the document with the methods that it describes; each exists."""

    attempt: Attempt
    finished: str  # id of a job with a profile
    methods: dict[str, set[str]]

    @property
    def readable(self) -> list[str]:
        return [path for path, methods in self.methods.items() if "GET" in methods]

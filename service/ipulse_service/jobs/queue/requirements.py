"""The requirements of a job: labels, software and packages of its agent, and too little room."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache

from ipulse_core import strict_json


@dataclass(frozen=True)
class Requirements:
    """The requirements of a job, which are stored as one JSON text."""

    labels: Mapping[str, str] = field(default_factory=dict)
    software: tuple[str, ...] = ()  # capabilities, sorted
    neuron_packages: tuple[str, ...] = ()  # sorted
    too_little: Mapping[str, int] = field(default_factory=dict)  # on a worker, by capability

    def to_text(self) -> str | None:
        """Returns the JSON, which is equal for equal requirements; None if there are none."""
        given = {name: value for name, value in asdict(self).items() if value}
        return strict_json.dumps(json.loads(json.dumps(given, sort_keys=True))) if given else None

    @staticmethod
    def of_text(text: str) -> Requirements:
        """Returns the requirements of JSON."""
        return _read(text)


NOTHING = Requirements()


@lru_cache(256)  # a claim compares the same few for each queued job
def _read(text: str) -> Requirements:
    found = json.loads(text)
    return Requirements(
        labels=found.get("labels", {}),
        software=tuple(found.get("software", ())),
        neuron_packages=tuple(found.get("neuron_packages", ())),
        too_little=found.get("too_little", {}),
    )

"""The plan of a run: which faults, how many, and on what stack."""

from __future__ import annotations

from dataclasses import dataclass

from ipulse_service.selftest import GROUPS


@dataclass(frozen=True)
class Plan:
    """The faults to inject. The same plan gives the same choices, at other times."""

    seed: int
    kills: int
    jobs: int = 0  # minimum number of accepted jobs, over which the kills are spread
    groups: tuple[str, ...] = GROUPS
    agents: int = 4
    lease_seconds: float = 30.0
    locked_seconds: float = 30.0
    trains: bool = False  # with the real runner instead of the scripted one
    postgresql: bool = False  # with a server and a standby instead of SQLite

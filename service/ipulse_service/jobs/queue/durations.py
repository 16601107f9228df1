"""How long jobs usually take, as a basis of estimates."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import median

from sqlalchemy import bindparam, select

from ipulse_core.states import ACTIVE, JobState
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs.transitions import PHASE_OF_STATE

RECENT = 60  # successful jobs of a kind of device that are looked at
FEWEST = 3  # of the same size, without which there is no estimate

_PHASES = [PHASE_OF_STATE[state] for state in ACTIVE]
_LATEST = (
    select(jobs.c.ipus, jobs.c.phase_ms)
    .where(jobs.c.state == JobState.SUCCEEDED.value, jobs.c.device == bindparam("of_kind"))
    .order_by(jobs.c.pk.desc())
    .limit(RECENT)
)


class UsualDurations:
    """The median time with agents of the latest successful jobs, by kind and number of devices."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._of_kind: dict[str, dict[int, int]] = {}

    def of(self, needs: Needs) -> int | None:
        """Returns the usual duration in milliseconds, None without a basis."""
        if needs.device not in self._of_kind:
            self._of_kind[needs.device] = self._read(needs.device)
        return self._of_kind[needs.device].get(needs.ipus)

    def _read(self, kind: str) -> dict[int, int]:
        took = defaultdict(list)
        for ipus, text in self._transaction.connection.execute(_LATEST, {"of_kind": kind}):
            phases = json.loads(text)
            took[ipus].append(sum(phases.get(phase, 0) for phase in _PHASES))
        return {ipus: round(median(each)) for ipus, each in took.items() if len(each) >= FEWEST}

"""What the layers of a network did in its last training, as a basis of predictions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import select

from ipulse_core import strict_json
from ipulse_core.prediction.step_cycles import Rates
from ipulse_core.states import JobState
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import jobs

RECENT = 60  # successful jobs that are looked at
_LATEST = (
    select(jobs.c.id, jobs.c.spec, jobs.c.progress)
    .where(jobs.c.state == JobState.SUCCEEDED.value, jobs.c.progress.is_not(None))
    .order_by(jobs.c.pk.desc())
    .limit(RECENT)
)


@dataclass(frozen=True)
class LastActivity:
    """The rates of the layers in the last epoch of a job, by the layer's name in metrics."""

    job_id: str
    rates: dict[str, Rates]


def last_activity(transaction: Transaction, spec: dict[str, Any]) -> LastActivity | None:
    """Returns the activity of the latest training with this network and data, on any device.

    It is one that the caller may read; None without one.

    Args:
        transaction: of the caller.
        spec: of a training, with every default.
    """
    wanted = _key(spec)
    visible = _LATEST.where(transaction.access.where(jobs))
    for job_id, text, progress in transaction.connection.execute(visible):
        evaluated = json.loads(progress).get("evaluated")
        if evaluated is None or _key_of_text(text) != wanted:
            continue
        rates = _rates(evaluated["values"])
        if rates:
            return LastActivity(job_id, rates)
    return None


def _key(spec: dict[str, Any]) -> str:
    """Returns the parts of a spec that decide what its neurons do before it is trained."""
    return strict_json.dumps([spec.get("network"), spec.get("data")])


@lru_cache(256)  # specs of the latest jobs, which each plan reads
def _key_of_text(text: str) -> str:
    return _key(json.loads(text))


def _rates(values: dict[str, float]) -> dict[str, Rates]:
    found = {}
    for name, rate in values.items():
        kind, _, layer = name.partition("/")
        if kind == "firing_rate":
            found[layer] = Rates(rate, values.get(f"gradient_set/{layer}", rate))
    return found

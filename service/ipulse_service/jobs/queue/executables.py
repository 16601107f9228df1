"""The program that a job compiles, and whether a machine has it in its cache."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from sqlalchemy import and_, bindparam, select

from ipulse_core import strict_json
from ipulse_core.states import JobState
from ipulse_service.agents import registry
from ipulse_service.agents.needs import Needs
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import attempts, jobs

RECENT = 60  # successful jobs of a kind of device that are looked at
# Fields that decide when and where a job runs.
_PLACEMENT = (
    *("connection_type", "acquire_poll_seconds", "acquire_timeout_seconds", "where", "pool"),
)
_LATEST = (
    select(jobs.c.spec, attempts.c.agent)
    .join(attempts, and_(attempts.c.job_pk == jobs.c.pk, attempts.c.number == jobs.c.attempt))
    .where(jobs.c.state == JobState.SUCCEEDED.value, jobs.c.device == bindparam("of_kind"))
    .order_by(jobs.c.pk.desc())
    .limit(RECENT)
)


def executable_key(value: dict[str, Any]) -> str | None:
    """Returns a digest of all of a resolved spec that decides its program, None without one.

    Specs with equal keys compile the same program. Some with different keys do so, too: their jobs
    are not held. On the emulator the op contains the network alone, and TensorFlow trains it; on
    an IPU the worker keeps the executables of each training apart.
    """
    device = value["device"]
    if device["kind"] == "cpu" or device["connection_type"] == "NEVER":  # nothing to share
        return None
    if device["kind"] == "ipu" and _has_ops(value):
        return None  # such trainings have caches of their own
    training = value["training"]
    parts = {
        "data": value["data"],
        "network": {name: part for name, part in value["network"].items() if name != "initial"},
        "training": training if device["kind"] == "ipu" else training["batch_size"],
        "device": {name: each for name, each in device.items() if name not in _PLACEMENT},
    }
    return hashlib.sha256(strict_json.dumps(parts).encode()).hexdigest()


def is_cached(transaction: Transaction, value: dict[str, Any], needs: Needs) -> bool | None:
    """Returns whether a present agent that can run a job is on a machine that compiled its program.

    That is known from the latest successful jobs of its kind of device that the caller may see; the
    cache may have been pruned since. Code of users is compiled by each attempt. None if nothing is
    compiled.
    """
    if needs.has_code:
        return False
    key = executable_key(value)
    if key is None:
        return None
    known = registry.known(transaction)
    hosts = {agent.name: agent.host or agent.name for agent in known}
    able = {
        hosts[agent.name]
        for agent in known
        if agent.is_present(transaction.now) and agent.has_device(needs) and agent.can_run(needs)
    }
    visible = _LATEST.where(transaction.access.where(jobs))
    latest = transaction.connection.execute(visible, {"of_kind": needs.device})
    return any(hosts.get(agent) in able and _key_of_text(spec) == key for spec, agent in latest)


@lru_cache(256)  # specs of the latest jobs, which each plan reads
def _key_of_text(text: str) -> str | None:
    value = json.loads(text)
    return executable_key(value) if "network" in value else None


def _has_ops(value: dict[str, Any]) -> bool:
    return any(layer.get("kind") == "op" for layer in value["network"]["layers"])

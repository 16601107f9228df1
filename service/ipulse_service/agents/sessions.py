"""Sessions of agents that have joined: of two processes with one token, the later one works."""

from __future__ import annotations

import json

from sqlalchemy import select, update

from ipulse_core.errors import Conflict
from ipulse_service.agents.drains import TOPIC
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents

_KEPT = 16  # sessions of one agent


class AgentReplaced(Conflict):
    """Another process with this agent's token came later, so that this one must end."""

    code = "agent_replaced"


def enter(transaction: Transaction, name: str, session: str) -> None:
    """Notes the session of an agent that registers. Raises AgentReplaced after a later one."""
    known = _known(transaction, name)
    _check(known, session)
    if session not in known:
        sessions = json.dumps([*known, session][-_KEPT:])
        statement = update(agents).where(agents.c.name == name).values(sessions=sessions)
        transaction.connection.execute(statement)
        transaction.topics.add(TOPIC)  # the former one may be waiting for work


def check(transaction: Transaction, name: str, session: str) -> None:
    """Raises AgentReplaced if a later session has registered."""
    _check(_known(transaction, name), session)


def _check(known: list[str], session: str) -> None:
    if session in known[:-1]:
        raise AgentReplaced(
            "another process with this agent's token came later, perhaps on a machine with a copy "
            "of this disk: join again on one of them, under another name"
        )


def _known(transaction: Transaction, name: str) -> list[str]:
    query = select(agents.c.sessions).where(agents.c.name == name)
    text = transaction.connection.execute(query).scalar_one_or_none()
    return [] if text is None else list(json.loads(text))

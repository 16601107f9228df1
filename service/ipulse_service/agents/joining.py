"""How an agent of another machine joins, renews its token, and leaves."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from ipulse_core.errors import Conflict, NotAuthenticated
from ipulse_service.agents import join_tokens, registry, roster
from ipulse_service.agents.known_agent import PRESENT_MS
from ipulse_service.db import tokens
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import agents

TOKEN_SECONDS = 86_400  # the life of an agent's own token


class AgentPresent(Conflict):
    """The agent belongs to this machine, so that it would register again: stop it first."""

    code = "agent_present"


class AgentNameInUse(Conflict):
    """Another machine's agent has this name."""

    code = "agent_name_in_use"


@dataclass(frozen=True)
class JoinedAgent:
    """An agent that has joined, with the secret text of its token."""

    name: str
    labels: Mapping[str, str]
    token: str
    seconds: int  # that the token is valid for


def join(
    transaction: Transaction, join_token_id: str, name: str, instance: str, replace: bool = False
) -> JoinedAgent:
    """Admits an agent, and replaces the tokens of a former agent of that name.

    `instance` is a secret of the joining machine. The same machine may repeat a request whose
    response was lost, with the same join token, without another use of that token; and it may take
    its own name again. Under another name it replaces its former agent, unless that one is present:
    then it runs on a machine with a copy of this one's disk. With `replace` it takes the name of
    another machine's agent as soon as that one has signed off, and not only after its silence.

    Raises JoinTokenUsed, or AgentNameInUse for the name of another machine whose agent is present,
    and for that of a removed agent that still holds a job: the name opens the job's files.
    """
    transaction.lock(f"agent/{name}")
    token = join_tokens.get(transaction, join_token_id)
    digest = hashlib.sha256(instance.encode()).hexdigest()
    former = transaction.connection.execute(
        select(agents).where(agents.c.name == name)
    ).one_or_none()
    if former is not None and former.joined_at is None:
        raise AgentNameInUse(
            f"an agent of the service's own machine is called {name}: choose another --name"
        )
    is_same = former is not None and hmac.compare_digest(former.instance_sha256 or "", digest)
    is_off = former is None or (replace and former.stopped_at is not None)
    was_seen = former is not None and former.seen_at > transaction.now - PRESENT_MS
    if former is not None and was_seen and not is_same and not is_off:
        seconds = max(0, transaction.now - former.seen_at) // 1000
        raise AgentNameInUse(
            f"an agent called {name} is present, seen {seconds} s ago: choose another --name, or "
            f"stop that agent and add --replace, or wait until it was silent for "
            f"{PRESENT_MS // 1000} s (--wait)"
        )
    if not is_same and roster.holds_any(transaction, name):
        raise AgentNameInUse(
            f"a former agent called {name} still holds a job: try again once its lease has "
            "expired (--wait does), or choose another --name"
        )
    if not (is_same and former is not None and former.join_token_id == token.id):
        join_tokens.use(transaction, token.id)
    row = {
        "labels": json.dumps(token.labels),
        "joined_at": transaction.now,
        "join_token_id": token.id,
        "instance_sha256": digest,
        "seen_at": transaction.now,
        "stopped_at": None,
    }
    if former is None:
        row.update(name=name, device_kinds="[]")
        transaction.connection.execute(insert(agents).values(row))
    else:  # a drain outlives the agent
        transaction.connection.execute(update(agents).where(agents.c.name == name).values(row))
    tokens.revoke_of_agent(transaction, name)
    _remove_former(transaction, name, digest)
    return JoinedAgent(name, token.labels, _issue(transaction, name), TOKEN_SECONDS)


def renew(transaction: Transaction, name: str) -> JoinedAgent:
    """Issues another token to an agent. The former one counts until the new one is used.

    The former one may have expired while the agent was away: it opens nothing else. Raises
    NotAuthenticated for an agent that the service does not know any more.
    """
    agent = registry.find(transaction, name)
    if agent is None:
        raise NotAuthenticated("the service does not know this agent any more: join again")
    return JoinedAgent(name, agent.labels, _issue(transaction, name), TOKEN_SECONDS)


def replace_tokens(transaction: Transaction, token_id: str) -> bool:
    """Revokes the older tokens of an agent that uses this one.

    Returns whether the agent should renew it: two thirds of its life are over.
    """
    token = tokens.get(transaction, token_id)
    if token is None or token.agent is None:
        return False
    tokens.revoke_of_agent(transaction, token.agent, kept=token)
    return token.is_due_for_renewal(transaction.now)


def leave(transaction: Transaction, name: str) -> None:
    """Removes an agent and its tokens. A job that it holds is queued when its lease expires."""
    tokens.revoke_of_agent(transaction, name)
    transaction.connection.execute(delete(agents).where(agents.c.name == name))


def remove(transaction: Transaction, name: str) -> None:
    """Removes an agent and its tokens. A job that it holds is queued when its lease expires.

    Raises NoSuchAgent, and AgentPresent for a present agent that has not joined.
    """
    agent = registry.get(transaction, name)
    if agent.joined_at is None and agent.is_present(transaction.now):
        raise AgentPresent()
    leave(transaction, name)
    transaction.audit("agent.remove", name)


def _remove_former(transaction: Transaction, name: str, instance_sha256: str) -> None:
    """Removes the absent agents of a machine that has joined under this name."""
    query = select(agents.c.name).where(
        agents.c.instance_sha256 == instance_sha256, agents.c.name != name
    )
    for former in transaction.connection.execute(query).scalars().all():
        known = registry.find(transaction, former)
        if known is not None and not known.is_present(transaction.now):
            leave(transaction, former)


def _issue(transaction: Transaction, name: str) -> str:
    _, text = tokens.issue(transaction, f"agent {name}", "worker", TOKEN_SECONDS, agent=name)
    return text

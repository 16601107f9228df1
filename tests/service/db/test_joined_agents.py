"""An agent that has joined is known however long it is away; others are forgotten."""

from __future__ import annotations

import pytest

from ipulse_service.agents import join_tokens, joining, registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.db import tokens
from tests.service.db.clock_world import HOUR, World

pytestmark = pytest.mark.postgresql


def test_is_known_after_a_month_and_renews_its_token(world: World) -> None:
    with world.database.write() as transaction:
        made, _ = join_tokens.issue(transaction, {"site": "b"}, 1, 3600)
        token = joining.join(transaction, made.id, "joined", "its secret").token
        registry.announce(transaction, KnownAgent("joined", ("cpu",)))
        registry.announce(transaction, KnownAgent("of-ipulse-up", ("cpu",)))
    world.pass_ms(30 * 24 * HOUR)
    with world.database.write() as transaction:
        registry.forget_silent(transaction)
        [agent] = registry.known(transaction)
        assert (agent.name, agent.is_present(transaction.now)) == ("joined", False)
        with pytest.raises(tokens.TokenExpired):
            tokens.find(transaction, token)
        former = tokens.find(transaction, token, may_have_expired=True)
        assert former is not None
        renewed = joining.renew(transaction, "joined")
        assert dict(renewed.labels) == {"site": "b"}
        registry.announce(transaction, KnownAgent("joined", ("cpu",)))
        known = tokens.find(transaction, renewed.token)
        assert known is not None
        assert not joining.replace_tokens(transaction, known.id)
        assert tokens.get(transaction, former.id) is None
        assert registry.get(transaction, "joined").is_present(transaction.now)

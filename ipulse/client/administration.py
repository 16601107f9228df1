"""The calls of both clients with which an owner administers tokens and agents."""

from __future__ import annotations

from collections.abc import Mapping

from . import administration_calls as calls
from .agent_resources import AgentStatus, DeviceStatus, JoinToken
from .call_sender import CallSender
from .resources import Token


class Administration(CallSender):
    """The calls about tokens, agents and devices."""

    async def create_token(self, name: str, role: str, seconds: int) -> Token:
        """Create a token; see Client.create_token."""
        # Not retried: a lost response would leave an unknown token behind.
        return await self._send(calls.create_token(name, role, seconds), tries=0)

    async def tokens(self) -> list[Token]:
        """Return the tokens that were created and not revoked, without their secrets."""
        return await self._send(calls.tokens())

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token: the service refuses it at once. Raises NotFound."""
        await self._send(calls.revoke_token(token_id))

    async def create_sign_in_code(self) -> str:
        """Create a code that signs one browser in, once, within ten minutes."""
        # Not retried: a lost response would leave an unknown code behind.
        return await self._send(calls.create_sign_in_code(), tries=0)

    async def create_join_token(
        self, labels: Mapping[str, str] | None = None, uses: int = 1, seconds: int = 3600
    ) -> JoinToken:
        """Create a join token; see Client.create_join_token."""
        # Not retried: a lost response would leave an unknown token behind.
        return await self._send(calls.create_join_token(labels or {}, uses, seconds), tries=0)

    async def join_tokens(self) -> list[JoinToken]:
        """Return the join tokens that can still be used, without their secrets."""
        return await self._send(calls.join_tokens())

    async def revoke_join_token(self, token_id: str) -> None:
        """Revoke a join token; agents that have joined with it stay. Raises NotFound."""
        await self._send(calls.revoke_join_token(token_id))

    async def agents(self) -> list[AgentStatus]:
        """Return the agents that were seen in the last week, and the jobs that they hold."""
        return await self._send(calls.agents())

    async def devices(self) -> list[DeviceStatus]:
        """Return the devices of all agents, and the jobs that use them."""
        return await self._send(calls.devices())

    async def drain_agent(self, name: str, seconds: int | None = None) -> AgentStatus:
        """Drain an agent; see Client.drain_agent."""
        return await self._send(calls.drain_agent(name, seconds))

    async def resume_agent(self, name: str) -> AgentStatus:
        """Let an agent claim jobs again. Raises NotFound."""
        return await self._send(calls.resume_agent(name))

    async def remove_agent(self, name: str) -> None:
        """Remove an agent and revoke its own token. Raises Conflict, NotFound."""
        await self._send(calls.remove_agent(name))

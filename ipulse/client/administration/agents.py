"""The calls of both clients about agents, devices and join tokens."""

from __future__ import annotations

from collections.abc import Mapping

from ipulse.client.transport.call_sender import CallSender

from . import calls
from .resources import AgentStatus, DeviceStatus, JoinToken


class Agents(CallSender):
    """The calls about agents, devices and join tokens."""

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
        """Return the agents that have joined or were seen in the last week, and their jobs."""
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

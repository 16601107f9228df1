"""The calls about agents, devices and tokens."""

from __future__ import annotations

from collections.abc import Mapping

from ipulse.client.administration import calls
from ipulse.client.administration.resources import AgentStatus, DeviceStatus, JoinToken, Token

from .call_sender import AsyncCallSender


class AsyncAdministration(AsyncCallSender):
    """The calls about agents, devices and tokens."""

    async def agents(self) -> list[AgentStatus]:
        """Return the agents that have joined or were seen in the last week, and their jobs."""
        return await self._send(calls.agents())

    async def devices(self) -> list[DeviceStatus]:
        """Return the devices of all agents, and the jobs that use them."""
        return await self._send(calls.devices())

    async def drain_agent(self, name: str, seconds: int | None = None) -> AgentStatus:
        """Keep jobs away from an agent until it is resumed. Raises NotFound, NotPermitted.

        A job that it holds may end; with `seconds` it returns to the queue after that time, from a
        checkpoint.
        """
        return await self._send(calls.drain_agent(name, seconds))

    async def resume_agent(self, name: str) -> AgentStatus:
        """Let an agent claim jobs again. Raises NotFound."""
        return await self._send(calls.resume_agent(name))

    async def remove_agent(self, name: str) -> None:
        """Remove an agent and revoke its own token. Raises Conflict, NotFound."""
        await self._send(calls.remove_agent(name))

    async def create_join_token(
        self, labels: Mapping[str, str] | None = None, uses: int = 1, seconds: int = 3600
    ) -> JoinToken:
        """Create a token with which so many agents of other machines may join within `seconds`.

        Only the owner's token can create one. The agents get the labels. The `secret` is returned
        only here. Raises NotPermitted.
        """
        # Not retried: a lost response would leave an unknown token behind.
        return await self._send(calls.create_join_token(labels or {}, uses, seconds), tries=0)

    async def join_tokens(self) -> list[JoinToken]:
        """Return the join tokens that can still be used, without their secrets."""
        return await self._send(calls.join_tokens())

    async def revoke_join_token(self, token_id: str) -> None:
        """Revoke a join token; agents that have joined with it stay. Raises NotFound."""
        await self._send(calls.revoke_join_token(token_id))

    async def create_token(
        self, name: str, role: str, seconds: int, submit_code: bool = False
    ) -> Token:
        """Create a token for a role (reader, user, worker) that expires after so many seconds.

        With `submit_code` a user's token may also submit Poplar programs and custom ops.
        Only the owner's token can create others. The `secret` is returned only here. Raises
        NotPermitted.
        """
        # Not retried: a lost response would leave an unknown token behind.
        return await self._send(calls.create_token(name, role, seconds, submit_code), tries=0)

    async def tokens(self) -> list[Token]:
        """Return the tokens that were created and not revoked, without their secrets."""
        return await self._send(calls.tokens())

    async def change_token(self, token_id: str, *, submit_code: bool) -> Token:
        """Give a user's token the right to submit programs and custom ops, or take it, at once.

        Only the owner's token can do so. Raises NotFound, and InvalidInput for another role.
        """
        return await self._send(calls.change_token(token_id, submit_code))

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token: the service refuses it at once. Raises NotFound."""
        await self._send(calls.revoke_token(token_id))

    async def create_sign_in_code(self) -> str:
        """Create a code that signs one browser in, once, within ten minutes.

        Open `/login#code=CODE` of the service with it. The browser may do what this client may.
        """
        # Not retried: a lost response would leave an unknown code behind.
        return await self._send(calls.create_sign_in_code(), tries=0)

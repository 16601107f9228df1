"""The calls of both clients about access tokens."""

from __future__ import annotations

from ipulse.client.transport.call_sender import CallSender

from . import calls
from .resources import Token


class TokenCalls(CallSender):
    """The calls about access tokens."""

    async def create_token(
        self, name: str, role: str, seconds: int, submit_code: bool = False
    ) -> Token:
        """Create a token; see Client.create_token."""
        # Not retried: a lost response would leave an unknown token behind.
        return await self._send(calls.create_token(name, role, seconds, submit_code), tries=0)

    async def tokens(self) -> list[Token]:
        """Return the tokens that were created and not revoked, without their secrets."""
        return await self._send(calls.tokens())

    async def change_token(self, token_id: str, *, submit_code: bool) -> Token:
        """Give or take a token's right to submit code; see Client.change_token."""
        return await self._send(calls.change_token(token_id, submit_code))

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token: the service refuses it at once. Raises NotFound."""
        await self._send(calls.revoke_token(token_id))

    async def create_sign_in_code(self) -> str:
        """Create a code that signs one browser in, once, within ten minutes."""
        # Not retried: a lost response would leave an unknown code behind.
        return await self._send(calls.create_sign_in_code(), tries=0)

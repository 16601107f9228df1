"""The methods of the synchronous client about access tokens."""

from __future__ import annotations

from ipulse.client.administration.resources import Token
from ipulse.client.client_base import ClientBase
from ipulse.client.transport.transports import finished


class BlockingTokens:
    """Creates and revokes access tokens."""

    _calls: ClientBase

    def create_token(self, name: str, role: str, seconds: int, submit_code: bool = False) -> Token:
        """Create a token for a role (reader, user, worker) that expires after so many seconds.

        With `submit_code` a user's token may also submit Poplar programs and custom ops.
        Only the owner's token can create others. The `secret` is returned only here. Raises
        NotPermitted.
        """
        return finished(self._calls.create_token(name, role, seconds, submit_code))

    def tokens(self) -> list[Token]:
        """Return the tokens that were created and not revoked, without their secrets."""
        return finished(self._calls.tokens())

    def change_token(self, token_id: str, *, submit_code: bool) -> Token:
        """Give a user's token the right to submit programs and custom ops, or take it, at once.

        Only the owner's token can do so. Raises NotFound, and InvalidInput for another role.
        """
        return finished(self._calls.change_token(token_id, submit_code=submit_code))

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token: the service refuses it at once. Raises NotFound."""
        finished(self._calls.revoke_token(token_id))

    def create_sign_in_code(self) -> str:
        """Create a code that signs one browser in, once, within ten minutes.

        Open `/login#code=CODE` of the service with it. The browser may do what this client may.
        """
        return finished(self._calls.create_sign_in_code())

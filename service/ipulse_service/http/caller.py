"""The caller of a request: the owner of its token, with the role and the rights that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ipulse_core.errors import NotPermitted
from ipulse_service.db import tokens as issued
from ipulse_service.db import web_sessions
from ipulse_service.db.engine import Transaction
from ipulse_service.db.web_sessions import SignedIn

# join: of a join token; code: of a one-time code that signs a browser in
Role = Literal["owner", "user", "reader", "worker", "join", "code"]


class CodeNotPermitted(NotPermitted):
    """This token may not submit code, which workers build and run."""

    code = "code_not_permitted"


@dataclass(frozen=True)
class Caller:
    """The owner of the token that came with a request."""

    name: str
    role: Role
    token_id: str | None = None  # None for the tokens in files, which do not expire
    agent: str | None = None  # the only agent that the token may act for; None: any
    session_id: str | None = None  # of the browser's session, or of the code that starts one
    session_ends_at: int | None = None  # milliseconds since 1970
    signed_in: SignedIn | None = None  # the caller that session or code belong to
    submit_code: bool = False  # an issued token must say so

    def is_known(self, transaction: Transaction) -> bool:
        """Checks that token and session are still valid, for a response that takes long."""
        if self.session_id is not None and not web_sessions.is_good(transaction, self.session_id):
            return False
        return self.token_id is None or issued.is_good(transaction, self.token_id)

    def token_name(self, transaction: Transaction) -> str:
        """Returns the name that people gave the token."""
        token = None if self.token_id is None else issued.get(transaction, self.token_id)
        return self.name if token is None else token.name

    def check_agent(self, name: str) -> None:
        """Raises NotPermitted unless the token may act for the agent of this name."""
        if self.agent not in (None, name):
            raise NotPermitted(f"this token belongs to the agent {self.agent}")

    def check_submits_code(self) -> None:
        """Raises CodeNotPermitted unless the token has the flag `submit_code`."""
        if not self.submit_code:
            raise CodeNotPermitted(
                "this token may not submit programs or custom ops; the service's owner makes one "
                "that may: `ipulse token create NAME --role user --submit-code`"
            )

"""The caller of a request: the owner of its token, with the role and the rights that it has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ipulse_core.errors import NotPermitted
from ipulse_service.db import tokens as issued
from ipulse_service.db import web_sessions
from ipulse_service.db.access import NOBODY, Access
from ipulse_service.db.engine import Transaction
from ipulse_service.db.people import access_of
from ipulse_service.db.web_sessions import SignedIn

# join: of a join token; code: of a one-time code that signs a browser in
Role = Literal["owner", "user", "reader", "worker", "join", "code"]


@dataclass(frozen=True)
class Caller:
    """The owner of the token that came with a request."""

    name: str  # of the person or service account; "agent ..." and "join token ..." have none
    role: Role
    access: Access = NOBODY
    token_id: str | None = None  # None for the tokens in files, which do not expire
    agent: str | None = None  # the agent that the token belongs to
    session_id: str | None = None  # of the browser's session, or of the code that starts one
    session_ends_at: int | None = None  # milliseconds since 1970
    signed_in: SignedIn | None = None  # the caller that session or code belong to

    def is_known(self, transaction: Transaction) -> bool:
        """Checks that token, session and rights are those of before: a response may take long."""
        if self.session_id is not None and not web_sessions.is_good(transaction, self.session_id):
            return False
        if self.token_id is None:
            return True
        if not issued.is_good(transaction, self.token_id):
            return False
        token = issued.get(transaction, self.token_id)
        if token is None or token.principal is None:
            return token is not None
        now = access_of(transaction, token.principal, token.scope_set, token.project)
        return now is not None and now == replace(self.access, asked_project=None)

    def token_name(self, transaction: Transaction) -> str:
        """Returns the name that people gave the token."""
        token = None if self.token_id is None else issued.get(transaction, self.token_id)
        return self.name if token is None else token.name

    def check_agent(self, name: str) -> None:
        """Raises NotPermitted unless the token belongs to the agent of this name."""
        if self.agent != name:
            raise NotPermitted(f"this token belongs to the agent {self.agent}")

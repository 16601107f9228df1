"""Issued tokens: each has one role, expires, and can be revoked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import delete, insert, select, update

from ipulse_core.errors import InvalidInput, NotAuthenticated, NotFound, Problem
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import tokens
from ipulse_service.db.token_text import TokenText

PREFIX = "ipulse_"


class TokenExpired(NotAuthenticated):
    """This token has expired."""

    code = "token_expired"


@dataclass(frozen=True)
class IssuedToken:
    """A token without its secret. Times are milliseconds since 1970."""

    id: str
    name: str
    role: str
    created_at: int
    expires_at: int
    agent: str | None = None  # the only agent that may use it; None: not an agent's own
    submit_code: bool = False  # it may submit programs and custom ops, which workers build

    def is_due_for_renewal(self, now: int) -> bool:
        """Returns whether two thirds of its life are over."""
        return now - self.created_at >= (self.expires_at - self.created_at) * 2 // 3


def issue(
    transaction: Transaction,
    name: str,
    role: str,
    seconds: int,
    agent: str | None = None,
    submit_code: bool = False,
) -> tuple[IssuedToken, str]:
    """Issues a token. Returns it with its secret text, which cannot be read again."""
    new = TokenText.new(PREFIX)
    now = transaction.now
    token = IssuedToken(new.id, name, role, now, now + seconds * 1000, agent, submit_code)
    row = {**vars(token), "sha256": new.sha256}
    transaction.connection.execute(insert(tokens).values(row))
    return token, new.text


def find(
    transaction: Transaction, text: str, *, may_have_expired: bool = False
) -> IssuedToken | None:
    """Returns the token of a secret text, None if it was revoked.

    Raises TokenExpired, unless it is an agent's own and `may_have_expired`.
    """
    sent = TokenText.parse(PREFIX, text)
    if sent is None:
        return None
    query = select(tokens).where(tokens.c.id == sent.id)
    row = transaction.connection.execute(query).one_or_none()
    if row is None or not sent.has_digest(row.sha256):
        return None
    is_excused = may_have_expired and row.agent is not None
    if row.expires_at <= transaction.now and not is_excused:
        raise TokenExpired(f"this token expired at {rfc3339(row.expires_at)}")
    return _token(row)


def is_good(transaction: Transaction, token_id: str) -> bool:
    """Returns whether a token is valid: neither expired nor revoked."""
    query = select(tokens.c.expires_at).where(tokens.c.id == token_id)
    expires_at = transaction.connection.execute(query).scalar_one_or_none()
    return expires_at is not None and expires_at > transaction.now


def issued(transaction: Transaction) -> list[IssuedToken]:
    """Returns all tokens that were not revoked, the latest first, including expired ones."""
    query = select(tokens).order_by(tokens.c.created_at.desc(), tokens.c.id)
    return [_token(row) for row in transaction.connection.execute(query)]


def get(transaction: Transaction, token_id: str) -> IssuedToken | None:
    """Returns a token by its id, None if it was revoked."""
    query = select(tokens).where(tokens.c.id == token_id)
    row = transaction.connection.execute(query).one_or_none()
    return None if row is None else _token(row)


def set_submit_code(transaction: Transaction, token_id: str, submit_code: bool) -> IssuedToken:
    """Gives a user's token the right to submit code, or takes it. Raises NotFound, InvalidInput."""
    token = get(transaction, token_id)
    if token is None:
        raise NotFound("there is no such token")
    if submit_code and token.role != "user":
        detail = f"only the role user submits; the role of this token is {token.role}"
        raise InvalidInput([Problem("/submit_code", "inconsistent", detail)])
    change = update(tokens).where(tokens.c.id == token_id).values(submit_code=submit_code)
    transaction.connection.execute(change)
    return replace(token, submit_code=submit_code)


def revoke(transaction: Transaction, token_id: str) -> None:
    """Revokes a token at once. Raises NotFound."""
    statement = delete(tokens).where(tokens.c.id == token_id)
    if transaction.connection.execute(statement).rowcount != 1:
        raise NotFound("there is no such token")


def revoke_of_agent(transaction: Transaction, agent: str, kept: IssuedToken | None = None) -> None:
    """Revokes the tokens of an agent, except one and those that are younger than that one."""
    statement = delete(tokens).where(tokens.c.agent == agent)
    if kept is not None:
        is_older = tokens.c.created_at <= kept.created_at
        statement = statement.where(tokens.c.id != kept.id, is_older)
    transaction.connection.execute(statement)


def _token(row: Any) -> IssuedToken:
    return IssuedToken(**{name: getattr(row, name) for name in IssuedToken.__dataclass_fields__})

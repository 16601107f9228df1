"""Issued tokens: each has one role, expires, and can be revoked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from ipulse_core.errors import InvalidInput, NotAuthenticated, NotFound, Problem
from ipulse_service.db import people
from ipulse_service.db.access import Scope
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import OWNER, tokens
from ipulse_service.db.token_text import TokenText

PREFIX = "ipulse_"

# Built once, because each request reads a token: building it takes as long as the rest.
_BY_ID = select(tokens).where(tokens.c.id == bindparam("token_id"))


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
    principal: str | None = None  # it acts for this one; None: an agent's
    scopes: str = ""  # the part of these rights that it carries
    project: str | None = None  # the only one in which it is valid
    last_used_at: int | None = None  # to the minute
    created_by: str = OWNER

    @property
    def scope_set(self) -> frozenset[Scope]:
        """The part of the rights of its principal that it carries."""
        return frozenset(map(Scope, self.scopes.split()))

    @property
    def submit_code(self) -> bool:
        """Whether it carries the right of its principal to submit code."""
        return Scope.CODE in self.scope_set

    def is_due_for_renewal(self, now: int) -> bool:
        """Returns whether two thirds of its life are over."""
        return now - self.created_at >= (self.expires_at - self.created_at) * 2 // 3


def issue(
    transaction: Transaction,
    name: str,
    role: str,
    seconds: int,
    agent: str | None = None,
    principal: str | None = None,
    scopes: Collection[Scope] = (),
    project: str | None = None,
) -> tuple[IssuedToken, str]:
    """Issues a token. Returns it with its secret text, which cannot be read again."""
    new = TokenText.new(PREFIX)
    now = transaction.now
    token = IssuedToken(
        new.id,
        name,
        role,
        now,
        now + seconds * 1000,
        agent,
        principal,
        written(scopes),
        project,
        None,
        transaction.access.name,
    )
    row = {**vars(token), "sha256": new.sha256}
    transaction.connection.execute(insert(tokens).values(row))
    detail = f"of {principal}: {token.scopes}" if principal else role
    transaction.audit("token.create", token.id, project, detail)
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
    row = transaction.connection.execute(_BY_ID, {"token_id": sent.id}).one_or_none()
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


def issued(transaction: Transaction, of: Collection[str] | None = None) -> list[IssuedToken]:
    """Returns tokens that were not revoked, the latest first, including expired ones.

    `of` are the principals whose tokens are returned; None: all, and those of agents.
    """
    query = select(tokens).order_by(tokens.c.created_at.desc(), tokens.c.id)
    if of is not None:
        query = query.where(tokens.c.principal.in_(of))
    return [_token(row) for row in transaction.connection.execute(query)]


def get(transaction: Transaction, token_id: str) -> IssuedToken | None:
    """Returns a token by its id, None if it was revoked."""
    row = transaction.connection.execute(_BY_ID, {"token_id": token_id}).one_or_none()
    return None if row is None else _token(row)


def note_use(transaction: Transaction, token_id: str) -> None:
    """Stores that a token was used now."""
    change = update(tokens).where(tokens.c.id == token_id)
    transaction.connection.execute(change.values(last_used_at=transaction.now))


def set_submit_code(transaction: Transaction, token_id: str, submit_code: bool) -> IssuedToken:
    """Gives a user's token the right to submit code, or takes it. Raises NotFound, InvalidInput."""
    token = get(transaction, token_id)
    if token is None:
        raise NotFound("there is no such token")
    if submit_code and token.role != "user":
        detail = f"only the role user submits; the role of this token is {token.role}"
        raise InvalidInput([Problem("/submit_code", "inconsistent", detail)])
    if submit_code and token.principal is not None:
        people.let_submit_code(transaction, token.principal, token.project)
    others = token.scope_set - {Scope.CODE}
    scopes = written(others | {Scope.CODE} if submit_code else others)
    change = update(tokens).where(tokens.c.id == token_id).values(scopes=scopes)
    transaction.connection.execute(change)
    transaction.audit("token.edit", token_id, None, f"scopes: {scopes}")
    return replace(token, scopes=scopes)


def revoke(transaction: Transaction, token_id: str) -> None:
    """Revokes a token at once. Raises NotFound."""
    statement = delete(tokens).where(tokens.c.id == token_id)
    if transaction.connection.execute(statement).rowcount != 1:
        raise NotFound("there is no such token")
    transaction.audit("token.revoke", token_id)


def forget_old(transaction: Transaction, principal: str, name: str) -> None:
    """Deletes the expired tokens of a principal with this name."""
    is_old = (tokens.c.principal == principal, tokens.c.name == name)
    statement = delete(tokens).where(*is_old, tokens.c.expires_at <= transaction.now)
    transaction.connection.execute(statement)


def revoke_of_agent(transaction: Transaction, agent: str, kept: IssuedToken | None = None) -> None:
    """Revokes the tokens of an agent, except one and those that are younger than that one."""
    statement = delete(tokens).where(tokens.c.agent == agent)
    if kept is not None:
        is_older = tokens.c.created_at <= kept.created_at
        statement = statement.where(tokens.c.id != kept.id, is_older)
    transaction.connection.execute(statement)


def written(scopes: Collection[Scope]) -> str:
    """Returns scopes as they are stored, in their order."""
    return " ".join(scope for scope in Scope if scope in scopes)


def _token(row: Any) -> IssuedToken:
    return IssuedToken(**{name: getattr(row, name) for name in IssuedToken.__dataclass_fields__})

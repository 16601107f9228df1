"""Issued tokens: each has one role, expires, and can be revoked."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from ipulse_core.errors import NotFound
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import tokens

PREFIX = "ipulse_"
_FORM = re.compile(r"ipulse_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class IssuedToken:
    """A token without its secret. Times are milliseconds since 1970."""

    id: str
    name: str
    role: str
    created_at: int
    expires_at: int


def issue(transaction: Transaction, name: str, role: str, seconds: int) -> tuple[IssuedToken, str]:
    """Issues a token. Returns it with its secret text, which cannot be read again."""
    id_, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    now = transaction.now
    token = IssuedToken(id_, name, role, now, now + seconds * 1000)
    row = {**vars(token), "sha256": _digest(secret)}
    transaction.connection.execute(insert(tokens).values(row))
    return token, f"{PREFIX}{id_}_{secret}"


def find(transaction: Transaction, text: str) -> IssuedToken | None:
    """Returns the token of a secret text, None if it has expired or was revoked."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    query = select(tokens).where(tokens.c.id == match.group(1))
    row = transaction.connection.execute(query).one_or_none()
    if row is None or not hmac.compare_digest(row.sha256, _digest(match.group(2))):
        return None
    if row.expires_at <= transaction.now:
        return None
    return IssuedToken(row.id, row.name, row.role, row.created_at, row.expires_at)


def is_good(transaction: Transaction, token_id: str) -> bool:
    """Returns whether a token is valid: neither expired nor revoked."""
    query = select(tokens.c.expires_at).where(tokens.c.id == token_id)
    expires_at = transaction.connection.execute(query).scalar_one_or_none()
    return expires_at is not None and expires_at > transaction.now


def issued(transaction: Transaction) -> list[IssuedToken]:
    """Returns all tokens that were not revoked, the latest first, including expired ones."""
    query = select(tokens).order_by(tokens.c.created_at.desc(), tokens.c.id)
    return [
        IssuedToken(row.id, row.name, row.role, row.created_at, row.expires_at)
        for row in transaction.connection.execute(query)
    ]


def revoke(transaction: Transaction, token_id: str) -> None:
    """Revokes a token at once. Raises NotFound."""
    statement = delete(tokens).where(tokens.c.id == token_id)
    if transaction.connection.execute(statement).rowcount != 1:
        raise NotFound("there is no such token")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

"""Join tokens: each admits a number of agents of other machines, until it expires."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select, update

from ipulse_core.errors import NotAuthenticated, NotFound
from ipulse_service.db.engine import Transaction, rfc3339
from ipulse_service.db.tables import join_tokens
from ipulse_service.db.token_text import TokenText

PREFIX = "ipj_"
# An expired or used token is kept for so long, to say why it is refused.
_KEPT_MS = 7 * 86_400_000


class JoinTokenExpired(NotAuthenticated):
    """The join token has expired: make another with `ipulse agent token`."""

    code = "join_token_expired"


class JoinTokenUsed(NotAuthenticated):
    """The join token has been used: make another with `ipulse agent token`."""

    code = "join_token_used"


@dataclass(frozen=True)
class StoredJoinToken:
    """A join token without its secret. Times are milliseconds since 1970."""

    id: str
    labels: Mapping[str, str]  # of the agents that join with it
    uses_left: int
    created_at: int
    expires_at: int


def issue(
    transaction: Transaction, labels: Mapping[str, str], uses: int, seconds: int
) -> tuple[StoredJoinToken, str]:
    """Issues a join token. Returns it with its secret text, which cannot be read again."""
    new = TokenText.new(PREFIX)
    now = transaction.now
    token = StoredJoinToken(new.id, dict(labels), uses, now, now + seconds * 1000)
    row = {**vars(token), "labels": json.dumps(token.labels), "sha256": new.sha256}
    transaction.connection.execute(insert(join_tokens).values(row))
    transaction.audit("join_token.create", token.id, None, f"uses: {uses}")
    return token, new.text


def find(transaction: Transaction, text: str) -> StoredJoinToken:
    """Returns the token of a secret text, whether or not it has been used.

    Raises NotAuthenticated, or JoinTokenExpired.
    """
    sent = TokenText.parse(PREFIX, text)
    row = _row(transaction, sent.id) if sent else None
    if sent is None or row is None or not sent.has_digest(row.sha256):
        raise NotAuthenticated("this is no join token of this service")
    if row.expires_at <= transaction.now:
        raise JoinTokenExpired(
            f"the join token expired at {rfc3339(row.expires_at)}: make another with "
            "`ipulse agent token`"
        )
    return _token(row)


def get(transaction: Transaction, token_id: str) -> StoredJoinToken:
    """Returns a token by its id. Raises NotAuthenticated if it was deleted."""
    row = _row(transaction, token_id)
    if row is None:
        raise NotAuthenticated("this is no join token of this service")
    return _token(row)


def use(transaction: Transaction, token_id: str) -> None:
    """Takes one of the token's uses. Raises JoinTokenUsed if none is left."""
    statement = (
        update(join_tokens)
        .where(join_tokens.c.id == token_id, join_tokens.c.uses_left > 0)
        .values(uses_left=join_tokens.c.uses_left - 1)
    )
    if transaction.connection.execute(statement).rowcount != 1:
        raise JoinTokenUsed()


def issued(transaction: Transaction) -> list[StoredJoinToken]:
    """Returns the tokens that can still be used, the latest first."""
    query = (
        select(join_tokens)
        .where(join_tokens.c.expires_at > transaction.now, join_tokens.c.uses_left > 0)
        .order_by(join_tokens.c.created_at.desc(), join_tokens.c.id)
    )
    return [_token(row) for row in transaction.connection.execute(query)]


def revoke(transaction: Transaction, token_id: str) -> None:
    """Revokes a token at once; agents that have joined with it stay. Raises NotFound."""
    statement = delete(join_tokens).where(join_tokens.c.id == token_id)
    if transaction.connection.execute(statement).rowcount != 1:
        raise NotFound("there is no such join token")
    transaction.audit("join_token.revoke", token_id)


def forget_old(transaction: Transaction) -> None:
    """Deletes tokens that expired a week ago."""
    old = join_tokens.c.expires_at <= transaction.now - _KEPT_MS
    transaction.connection.execute(delete(join_tokens).where(old))


def _row(transaction: Transaction, token_id: str) -> Any:
    query = select(join_tokens).where(join_tokens.c.id == token_id)
    return transaction.connection.execute(query).one_or_none()


def _token(row: Any) -> StoredJoinToken:
    labels = json.loads(row.labels)
    return StoredJoinToken(row.id, labels, row.uses_left, row.created_at, row.expires_at)

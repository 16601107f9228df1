"""Sessions of browsers and the one-time codes that start one; each stands for a token.

A session ends when it expires, when its person signs out, and when its token ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, delete, insert, or_, select

from ipulse_core.errors import NotAuthenticated
from ipulse_service.db import tokens as issued
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import OWNER, tokens, web_sessions
from ipulse_service.db.token_text import TokenText
from ipulse_service.db.tokens import IssuedToken

Kind = Literal["session", "code"]

CODE_PREFIX, SESSION_PREFIX = "ipc_", "ips_"
CODE_SECONDS, SESSION_SECONDS = 600, 14 * 86_400

_PREFIXES: dict[Kind, str] = {"session": SESSION_PREFIX, "code": CODE_PREFIX}
_SECONDS: dict[Kind, int] = {"session": SESSION_SECONDS, "code": CODE_SECONDS}


@dataclass(frozen=True)
class SignedIn:
    """The caller that a session or a code belongs to."""

    name: str
    role: str
    token_id: str | None  # None: a token in a file
    token_mark: str = ""  # of a token in a file; another one makes the session invalid


@dataclass(frozen=True)
class WebSession:
    """A session or a code without its secret. Times are milliseconds since 1970."""

    id: str
    signed_in: SignedIn
    expires_at: int
    token: IssuedToken | None = None  # that is behind it; None: a token in a file


def issue(transaction: Transaction, kind: Kind, signed_in: SignedIn) -> tuple[WebSession, str]:
    """Issues a session or a code. Returns it with its secret text, which cannot be read again."""
    new = TokenText.new(_PREFIXES[kind])
    now = transaction.now
    expires_at = now + _SECONDS[kind] * 1000
    row = {**vars(signed_in), "id": new.id, "kind": kind, "sha256": new.sha256}
    row |= {"created_at": now, "expires_at": expires_at}
    transaction.connection.execute(insert(web_sessions).values(row))
    return WebSession(new.id, signed_in, expires_at), new.text


def find(transaction: Transaction, kind: Kind, text: str) -> WebSession:
    """Returns what a secret text stands for, while its token is valid. Raises NotAuthenticated."""
    sent = TokenText.parse(_PREFIXES[kind], text)
    row = _row(transaction, sent.id) if sent else None
    if sent is None or row is None or row.kind != kind or not sent.has_digest(row.sha256):
        raise NotAuthenticated(_REFUSALS[kind])
    if row.expires_at <= transaction.now:
        raise NotAuthenticated(_REFUSALS[kind])
    token = None if row.token_id is None else issued.get(transaction, row.token_id)
    if row.token_id is not None and (token is None or token.expires_at <= transaction.now):
        raise NotAuthenticated(
            "the token of this session has expired or was revoked: sign in again"
        )
    signed_in = SignedIn(row.name, row.role, row.token_id, row.token_mark)
    return WebSession(row.id, signed_in, row.expires_at, token)


def is_good(transaction: Transaction, session_id: str) -> bool:
    """Returns whether a session has neither expired nor been ended."""
    row = _row(transaction, session_id)
    return row is not None and row.expires_at > transaction.now


def use_code(transaction: Transaction, code_id: str) -> None:
    """Uses a code up. Raises NotAuthenticated if another request did so."""
    if not end(transaction, code_id):
        raise NotAuthenticated(_REFUSALS["code"])


def end(transaction: Transaction, session_id: str) -> bool:
    """Ends a session at once. Returns whether there was one."""
    statement = delete(web_sessions).where(web_sessions.c.id == session_id)
    return transaction.connection.execute(statement).rowcount == 1


@dataclass(frozen=True)
class ListedSession:
    """A session without its secret. Times are milliseconds since 1970."""

    id: str
    created_at: int
    expires_at: int


def of_principal(transaction: Transaction, name: str) -> list[ListedSession]:
    """Returns the sessions of a person that have not expired, the latest first."""
    query = select(web_sessions.c.id, web_sessions.c.created_at, web_sessions.c.expires_at)
    query = query.where(*_of(transaction, name)).order_by(web_sessions.c.created_at.desc())
    return [ListedSession(*row) for row in transaction.connection.execute(query)]


def end_own(transaction: Transaction, name: str, session_id: str | None = None) -> int:
    """Ends one session of a person, or all of them and unused codes. Returns how many."""
    own = select(web_sessions.c.id).where(*_of(transaction, name, "session", "code"))
    statement = delete(web_sessions).where(web_sessions.c.id.in_(own))
    if session_id is not None:
        statement = statement.where(web_sessions.c.id == session_id)
    ended = transaction.connection.execute(statement).rowcount
    if ended:
        transaction.audit("session.end", session_id or "all")
    return ended


def _of(transaction: Transaction, name: str, *kinds: Kind) -> list[ColumnElement[bool]]:
    """Returns the conditions of what a person has: by its tokens, or by that in the file."""
    of_tokens = web_sessions.c.token_id.in_(select(tokens.c.id).where(tokens.c.principal == name))
    is_own = or_(of_tokens, web_sessions.c.token_id.is_(None)) if name == OWNER else of_tokens
    kind = web_sessions.c.kind.in_(kinds or ("session",))
    return [is_own, kind, web_sessions.c.expires_at > transaction.now]


def forget_old(transaction: Transaction) -> None:
    """Deletes sessions and codes that have expired."""
    old = web_sessions.c.expires_at <= transaction.now
    transaction.connection.execute(delete(web_sessions).where(old))


_REFUSALS: dict[Kind, str] = {
    "session": "the session has ended: sign in again",
    "code": "the code has been used or is older than ten minutes: `ipulse open` makes another",
}


def _row(transaction: Transaction, session_id: str) -> Any:
    query = select(web_sessions).where(web_sessions.c.id == session_id)
    return transaction.connection.execute(query).one_or_none()

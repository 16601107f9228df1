"""Device codes, by which a program signs in: a person confirms them in the page (RFC 8628)."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from ipulse_core.errors import NotFound
from ipulse_service.db import tokens
from ipulse_service.db.access import Scope
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import device_codes
from ipulse_service.db.token_text import TokenText

PREFIX = "ipd_"
CODE_SECONDS = 600
INTERVAL_SECONDS = 2  # between two questions of the program
TOKEN_SECONDS = 30 * 86_400
MOST_WAITING = 1000  # so that nobody without a token fills the database
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # RFC 8628, section 6.1: no vowels, so no words


class TokenRefused(Exception):
    """No token is issued; the message is an error code of RFC 8628."""


@dataclass(frozen=True)
class WaitingCode:
    """A program that waits for a person. Times are milliseconds since 1970."""

    user_code: str
    client: str
    scopes: str
    created_at: int
    expires_at: int

    @property
    def scope_set(self) -> frozenset[Scope]:
        """The scopes that the program asks for."""
        return frozenset(map(Scope, self.scopes.split()))


_WAITING = tuple(device_codes.c[name] for name in WaitingCode.__dataclass_fields__)


def create(
    transaction: Transaction, client: str, scopes: Collection[Scope]
) -> tuple[WaitingCode, str] | None:
    """Returns a code for a person and one for the program; None if too many programs wait."""
    forget_old(transaction)
    count = select(func.count()).select_from(device_codes)
    if transaction.connection.execute(count).scalar_one() >= MOST_WAITING:
        return None
    new = TokenText.new(PREFIX)
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    now = transaction.now
    waiting = WaitingCode(
        f"{letters[:4]}-{letters[4:]}",
        client,
        tokens.written(scopes),
        now,
        now + CODE_SECONDS * 1000,
    )
    row = {**vars(waiting), "id": new.id, "sha256": new.sha256}
    transaction.connection.execute(insert(device_codes).values(row))
    return waiting, new.text


def find(transaction: Transaction, user_code: str) -> WaitingCode:
    """Returns the program that waits for a person. Raises NotFound."""
    written = user_code.strip().upper().replace("-", "").replace(" ", "")
    query = select(*_WAITING).where(
        device_codes.c.user_code == f"{written[:4]}-{written[4:]}",
        device_codes.c.principal.is_(None),
        device_codes.c.expires_at > transaction.now,
    )
    row = transaction.connection.execute(query).one_or_none()
    if row is None:
        raise NotFound("there is no such code, or it is older than ten minutes")
    return WaitingCode(*row)


def answer(transaction: Transaction, user_code: str, is_allowed: bool, only: str | None) -> None:
    """Notes what the caller says about a program. Raises NotFound.

    `only` is the one project in which the token of the caller is valid; None: all.
    """
    waiting = find(transaction, user_code)
    access = transaction.access
    scopes = waiting.scope_set & access.scopes
    values = {"principal": access.name, "is_allowed": is_allowed, "project": only}
    values["scopes"] = tokens.written(scopes)
    this = update(device_codes).where(device_codes.c.user_code == waiting.user_code)
    transaction.connection.execute(this.values(values))
    if not is_allowed:
        transaction.audit("device.deny", waiting.client)


def answered_by(transaction: Transaction, text: str) -> str | None:
    """Returns the person who has answered a program; None: nobody yet."""
    sent = TokenText.parse(PREFIX, text)
    query = select(device_codes.c.principal).where(device_codes.c.id == (sent.id if sent else ""))
    name: str | None = transaction.connection.execute(query).scalar_one_or_none()
    return name


def trade(transaction: Transaction, text: str) -> tuple[tokens.IssuedToken, str]:
    """Returns a token of the person who has confirmed a code. Raises TokenRefused."""
    sent = TokenText.parse(PREFIX, text)
    row: Any = None
    if sent is not None:
        query = select(device_codes).where(device_codes.c.id == sent.id).with_for_update()
        row = transaction.connection.execute(query).one_or_none()
    if sent is None or row is None or not sent.has_digest(row.sha256):
        raise TokenRefused("invalid_grant")
    this = device_codes.c.id == sent.id
    if row.expires_at <= transaction.now:
        raise TokenRefused("expired_token")
    if row.principal is None:
        is_early = row.polled_at is not None and transaction.now < row.polled_at + (
            INTERVAL_SECONDS * 1000 - 500
        )
        polled = update(device_codes).where(this).values(polled_at=transaction.now)
        transaction.connection.execute(polled)
        raise TokenRefused("slow_down" if is_early else "authorization_pending")
    transaction.connection.execute(delete(device_codes).where(this))
    if not row.is_allowed:
        raise TokenRefused("access_denied")
    scopes = frozenset(map(Scope, row.scopes.split()))
    role = "user" if Scope.SUBMIT in scopes else "reader"
    return tokens.issue(
        transaction,
        f"login on {row.client}"[:128],
        role,
        TOKEN_SECONDS,
        principal=row.principal,
        scopes=scopes,
        project=row.project,
    )


def forget_old(transaction: Transaction) -> None:
    """Deletes codes that have expired."""
    old = device_codes.c.expires_at <= transaction.now
    transaction.connection.execute(delete(device_codes).where(old))

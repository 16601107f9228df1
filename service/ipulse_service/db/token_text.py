"""The text of a token: a prefix, an id, and a secret of which only the digest is stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Self

_ID_BYTES, _SECRET_BYTES = 8, 32
_FORM = r"([0-9a-f]{16})_([A-Za-z0-9_-]{43})"


@dataclass(frozen=True)
class TokenText:
    """The text that the owner of a token sends."""

    prefix: str  # of all tokens of one kind
    id: str
    secret: str = field(repr=False)

    @classmethod
    def new(cls, prefix: str) -> Self:
        """Returns the text of a new token."""
        return cls(prefix, secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES))

    @classmethod
    def parse(cls, prefix: str, text: str) -> Self | None:
        """Returns the parts of a text, None if it does not have the form of one."""
        match = re.fullmatch(prefix + _FORM, text)
        return None if match is None else cls(prefix, *match.groups())

    @property
    def text(self) -> str:
        """The whole text."""
        return f"{self.prefix}{self.id}_{self.secret}"

    @property
    def sha256(self) -> str:
        """The digest of the secret."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def has_digest(self, sha256: str) -> bool:
        """Returns whether the secret has a stored digest; takes the same time in either case."""
        return hmac.compare_digest(sha256, self.sha256)

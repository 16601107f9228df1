"""Tables of issued tokens and of the sessions of browsers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, String, Table, false

from ipulse_service.db.tables.base import metadata

# Issued tokens, in addition to the two in files; only the digest of a secret is stored.
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("role", String(32), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("agent", String(128)),  # the only agent that may use it; null: not an agent's own
    # True if it may submit programs and custom ops, which workers build and run.
    Column("submit_code", Boolean, nullable=False, server_default=false()),
)

# Sessions of browsers, and the one-time codes that are traded for one.
web_sessions = Table(
    "web_sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),  # session or code
    Column("sha256", String(64), nullable=False),
    Column("name", String(128), nullable=False),  # name and role of the caller who signed in
    Column("role", String(32), nullable=False),
    Column("token_id", String(32)),  # of the token behind it; null: a token in a file
    Column("token_mark", String(64), nullable=False),  # changes with the token in the file
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

"""Tables of registered agents, and of the tokens with which they join."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, String, Table, Text

from ipulse_service.db.tables.base import metadata

# Registered agents.
agents = Table(
    "agents",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("device_kinds", Text, nullable=False),  # a JSON array
    Column("quarantined", Text, nullable=False, server_default="[]"),  # not used now
    Column("quarantine_reasons", Text, nullable=False, server_default="{}"),  # JSON: by kind
    # JSON: what it has, why it lacks the rest, and packages of neurons that the service signed off.
    Column("capabilities", Text, nullable=False, server_default="{}"),
    Column("seen_at", BigInteger, nullable=False),
    Column("stopped_at", BigInteger),  # null: it did not sign off after its last registration
    Column("labels", Text, nullable=False, server_default="{}"),  # a JSON object
    Column("version", String(64), nullable=False, server_default=""),
    Column("joined_at", BigInteger),  # null: it has the token that agents share
    Column("join_token_id", String(32)),
    Column("instance_sha256", String(64)),  # of a secret of its machine
    Column("sessions", Text, nullable=False, server_default="[]"),  # the latest one comes last
    Column("draining_at", BigInteger),  # null: it may claim jobs
    Column("drain_until", BigInteger),  # then it gives back a job that it still holds
    Column("host", String(255), nullable=False, server_default=""),  # empty: not known
    Column("ipus", Text, nullable=False, server_default="{}"),  # JSON: number by kind, where known
    Column("data_sets", Text),  # a JSON array of KIND/NAME; null: not known
    Column("cached", Text, nullable=False, server_default="[]"),  # JSON: digests of uploaded data
    Column("since", BigInteger, nullable=False, server_default="0"),  # present without a gap
    Column("fault_reason", String(64)),  # why it can run no job now; null: it can
    Column("fault_message", Text),
    Column("fault_since", BigInteger),
)

# Tokens with which agents of other machines join.
join_tokens = Table(
    "join_tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("labels", Text, nullable=False),  # a JSON object
    Column("uses_left", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

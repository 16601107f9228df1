"""Tables about the database itself: its clock and whether it accepts writes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, String, Table

from ipulse_service.db.tables.base import KEY, metadata

# Offsets of the database's clock, which may be set; see `steady_clock`.
clock_eras = Table(
    "clock_eras",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("ahead_ms", BigInteger, nullable=False),  # stored times minus the clock, from then on
    Column("read_at", BigInteger, nullable=False),  # a time that has passed
    Column("boot_id", String(64)),  # of the machine that stored it, if that has the database
    Column("booted_ms", BigInteger),  # from its start to `read_at`
    sqlite_autoincrement=True,
)

# A row that is written to test whether the database accepts writes.
trials = Table(
    "trials",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("tried_at", BigInteger, nullable=False),
)

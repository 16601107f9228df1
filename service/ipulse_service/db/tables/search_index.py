"""Tables of the index of settings and metrics, for searches and columns."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, ForeignKey, String, Table, Text, UniqueConstraint

from ipulse_service.db.tables.base import KEY, metadata

# Names of settings and metrics; the index has their ids.
index_names = Table(
    "index_names",
    metadata,
    Column("id", KEY, primary_key=True),
    Column("kind", String(8), nullable=False),  # setting or metric
    Column("name", String(200), nullable=False),
    UniqueConstraint("kind", "name"),
    sqlite_autoincrement=True,
)

# The flat settings of each job's spec, for searches and columns.
job_settings = Table(
    "job_settings",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("name_id", ForeignKey("index_names.id"), primary_key=True),
    Column("number", Double),  # null: the value is no number
    Column("value", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

# The metrics of each job's epochs, for searches and columns.
job_metrics = Table(
    "job_metrics",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("name_id", ForeignKey("index_names.id"), primary_key=True),
    Column("kept", Double, nullable=False),  # of the kept epoch; before the end, of the last one
    Column("smallest", Double, nullable=False),
    Column("largest", Double, nullable=False),
    Column("last", Double, nullable=False),
    Column("smallest_epoch", BigInteger, nullable=False),
    Column("largest_epoch", BigInteger, nullable=False),
    Column("last_epoch", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

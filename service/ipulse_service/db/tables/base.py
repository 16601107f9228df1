"""The metadata that all tables share, and the type of their row numbers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, MetaData

# Every constraint has a name, so that migrations can refer to it on any database.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite assigns row numbers only to a column declared INTEGER.
KEY = BigInteger().with_variant(Integer(), "sqlite")

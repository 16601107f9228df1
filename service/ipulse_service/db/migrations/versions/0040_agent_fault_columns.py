"""Repair databases that have the first form of revision 0010, a table of faults of agents."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"

_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {
    "reason": sa.String(64),
    "message": sa.Text(),
    "since": sa.BigInteger(),
}


def upgrade() -> None:
    """Upgrades to revision 0040."""
    inspector = sa.inspect(op.get_bind())
    present = {column["name"] for column in inspector.get_columns("agents")}
    for name, kind in _COLUMNS.items():
        if f"fault_{name}" not in present:
            op.add_column("agents", sa.Column(f"fault_{name}", kind))
    if not inspector.has_table("agent_faults"):
        return
    agents = sa.table("agents", sa.column("name"), *(sa.column(f"fault_{n}") for n in _COLUMNS))
    faults = sa.table("agent_faults", sa.column("agent"), *map(sa.column, _COLUMNS))
    values = {
        f"fault_{name}": sa.select(faults.c[name])
        .where(faults.c.agent == agents.c.name)
        .scalar_subquery()
        for name in _COLUMNS
    }
    op.execute(sa.update(agents).values(values))
    op.drop_table("agent_faults")

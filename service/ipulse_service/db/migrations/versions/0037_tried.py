"""Add what agents have for jobs, why they do not use devices, and what jobs had too little of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Upgrades to revision 0037."""
    for name in ("capabilities", "quarantine_reasons"):
        op.add_column("agents", sa.Column(name, sa.Text, nullable=False, server_default="{}"))
    op.add_column("jobs", sa.Column("tried", sa.Text))

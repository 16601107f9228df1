"""Add the packages of neurons that agents have, and those that jobs need."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Upgrades to revision 0036."""
    op.add_column(
        "agents", sa.Column("neuron_packages", sa.Text, nullable=False, server_default="[]")
    )
    op.add_column("jobs", sa.Column("neuron_packages", sa.Text))

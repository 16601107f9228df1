"""Add who a person is at an OpenID Connect provider."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    """Upgrades to revision 0053."""
    op.add_column("principals", sa.Column("issuer", sa.String(255)))
    op.add_column("principals", sa.Column("subject", sa.String(255)))
    op.create_index("ix_principals_subject", "principals", ["issuer", "subject"], unique=True)

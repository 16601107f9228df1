"""Delete the tokens that several agents could share: each agent has one of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Upgrades to revision 0049."""
    tokens = sa.table("tokens", *map(sa.column, ("role", "agent")))
    shared = sa.and_(tokens.c.role == "worker", tokens.c.agent.is_(None))
    op.get_bind().execute(sa.delete(tokens).where(shared))

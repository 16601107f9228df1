"""Make the right to submit code a scope of tokens and a role; tokens that had it keep it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    """Upgrades to revision 0050."""
    tokens = sa.table(
        "tokens",
        *map(sa.column, ("id", "scopes", "principal")),
        sa.column("submit_code", sa.Boolean),
    )
    members = sa.table("members", *map(sa.column, ("principal", "role")))
    connection = op.get_bind()
    had = sa.select(tokens).where(tokens.c.submit_code, tokens.c.principal.is_not(None))
    for token in connection.execute(had).all():
        scopes = " ".join(
            scope
            for scope in ("read", "submit", "code", "manage", "admin")
            if scope == "code" or scope in token.scopes.split()
        )
        this = sa.update(tokens).where(tokens.c.id == token.id)
        connection.execute(this.values(scopes=scopes))
        is_member = sa.and_(members.c.principal == token.principal, members.c.role == "member")
        connection.execute(sa.update(members).where(is_member).values(role="developer"))
    op.drop_column("tokens", "submit_code")

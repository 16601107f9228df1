"""Add the table of the texts of specs as clients submitted them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0028."""
    op.create_table(
        "submitted_specs",
        sa.Column("job_pk", _KEY, autoincrement=False, nullable=False),
        sa.Column("form", sa.String(8), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("job_pk", name="pk_submitted_specs"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_submitted_specs_job_pk_jobs"),
    )

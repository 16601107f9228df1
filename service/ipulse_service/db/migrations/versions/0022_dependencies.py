"""Add the jobs that a job waits for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0022."""
    op.create_table(
        "job_dependencies",
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("needs_id", sa.String(64), nullable=False),
        sa.Column("needs_pk", _KEY),
        sa.Column("needs_state", sa.String(32)),
        sa.Column("on_end", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("job_pk", "needs_id", name="pk_job_dependencies"),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_job_dependencies_job_pk_jobs"),
        sa.ForeignKeyConstraint(
            ["needs_pk"], ["jobs.pk"], name="fk_job_dependencies_needs_pk_jobs"
        ),
    )
    op.create_index("ix_job_dependencies_needs_pk", "job_dependencies", ["needs_pk"])
    op.create_index("ix_job_dependencies_state", "job_dependencies", ["state"])

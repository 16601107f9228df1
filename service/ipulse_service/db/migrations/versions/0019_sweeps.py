"""Add sweeps, their trials, and the jobs of the trials."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0019."""
    op.create_table(
        "sweeps",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("caller", sa.String(64), nullable=False),
        sa.Column("key", sa.String(255)),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("reason", sa.String(64)),
        sa.Column("message", sa.Text, nullable=False, server_default=""),
        sa.Column("trials", sa.Integer, nullable=False),
        sa.Column("parallel", sa.Integer, nullable=False),
        sa.Column("next_trial", sa.Integer, nullable=False, server_default="1"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("version", sa.BigInteger, nullable=False, server_default="1"),
        sa.PrimaryKeyConstraint("pk", name="pk_sweeps"),
        sa.UniqueConstraint("id", name="uq_sweeps_id"),
        sa.UniqueConstraint("caller", "key", name="uq_sweeps_caller_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sweeps_state_pk", "sweeps", ["state", "pk"])
    op.create_table(
        "sweep_trials",
        sa.Column("pk", _KEY, nullable=False),
        sa.Column("sweep_pk", _KEY, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("message", sa.Text, nullable=False, server_default=""),
        sa.Column("value", sa.Double),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("pk", name="pk_sweep_trials"),
        sa.ForeignKeyConstraint(
            ["sweep_pk"], ["sweeps.pk"], name="fk_sweep_trials_sweep_pk_sweeps"
        ),
        sa.UniqueConstraint("sweep_pk", "number", name="uq_sweep_trials_sweep_pk_number"),
    )
    op.create_index("ix_sweep_trials_sweep_pk_state", "sweep_trials", ["sweep_pk", "state"])
    op.create_table(
        "sweep_jobs",
        sa.Column("trial_pk", _KEY, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("job_pk", _KEY),
        sa.Column("job_id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(32)),
        sa.Column("message", sa.Text, nullable=False, server_default=""),
        sa.Column("value", sa.Double),
        sa.Column("run_ms", sa.BigInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("trial_pk", "seed", name="pk_sweep_jobs"),
        sa.ForeignKeyConstraint(
            ["trial_pk"], ["sweep_trials.pk"], name="fk_sweep_jobs_trial_pk_sweep_trials"
        ),
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name="fk_sweep_jobs_job_pk_jobs"),
    )
    op.create_index("ix_sweep_jobs_job_pk", "sweep_jobs", ["job_pk"])

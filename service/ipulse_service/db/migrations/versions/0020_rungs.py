"""Add the rungs of early stopping in sweeps, and the history of each proposal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrades to revision 0020."""
    op.add_column("sweep_trials", sa.Column("based_on", sa.Text))
    op.create_table(
        "sweep_rungs",
        sa.Column("trial_pk", _KEY, nullable=False),
        sa.Column("epoch", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("sweep_pk", _KEY, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("goes_on", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("trial_pk", "epoch", name="pk_sweep_rungs"),
        sa.ForeignKeyConstraint(
            ["trial_pk"], ["sweep_trials.pk"], name="fk_sweep_rungs_trial_pk_sweep_trials"
        ),
        sa.ForeignKeyConstraint(["sweep_pk"], ["sweeps.pk"], name="fk_sweep_rungs_sweep_pk_sweeps"),
    )
    op.create_index("ix_sweep_rungs_sweep_pk_epoch", "sweep_rungs", ["sweep_pk", "epoch"])

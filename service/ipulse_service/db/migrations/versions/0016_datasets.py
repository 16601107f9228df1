"""Add data sets of users, their versions and uploads."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Upgrades to revision 0016."""
    key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "datasets",
        sa.Column("pk", key, nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("last_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pk", name="pk_datasets"),
        sa.UniqueConstraint("name", name="uq_datasets_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "dataset_versions",
        sa.Column("pk", key, nullable=False),
        sa.Column("dataset_pk", key, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(32)),
        sa.Column("facts", sa.Text()),
        sa.Column("refusal", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger()),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("pk", name="pk_dataset_versions"),
        sa.ForeignKeyConstraint(
            ["dataset_pk"], ["datasets.pk"], name="fk_dataset_versions_dataset_pk_datasets"
        ),
        sa.UniqueConstraint("dataset_pk", "number", name="uq_dataset_versions_dataset_pk_number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_dataset_versions_sha256", "dataset_versions", ["sha256"])
    op.create_index("ix_dataset_versions_state", "dataset_versions", ["state", "pk"])
    op.create_table(
        "dataset_samples",
        sa.Column("version_pk", key, nullable=False),
        sa.Column("sample", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("version_pk", "sample", name="pk_dataset_samples"),
        sa.ForeignKeyConstraint(
            ["version_pk"],
            ["dataset_versions.pk"],
            name="fk_dataset_samples_version_pk_dataset_versions",
        ),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("caller", sa.String(128), nullable=False),
        sa.Column("purpose", sa.String(32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("completed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
    )
    op.create_index("ix_uploads_sha256", "uploads", ["sha256"])
    op.create_index("ix_uploads_expires_at", "uploads", ["expires_at"])
    op.add_column("jobs", sa.Column("dataset_sha256", sa.String(64)))
    op.create_index("ix_jobs_dataset_sha256", "jobs", ["dataset_sha256"])

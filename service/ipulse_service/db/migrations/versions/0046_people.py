"""Add projects, people and service accounts; what exists belongs to the owner.

Each issued token of a user or reader becomes one of a service account of its name.
"""

from __future__ import annotations

import re
import time

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ROLES = {"user": ("member", "read submit"), "reader": ("viewer", "read")}


def upgrade() -> None:
    """Upgrades to revision 0046."""
    _create_tables()
    for name in ("jobs", "sweeps", "datasets", "ops"):
        op.add_column(name, _name("project", "default"))
        op.add_column(name, _name("owner", "owner"))
        op.add_column(name, _name("created_by", "owner"))
    op.add_column("uploads", _name("project", "default"))
    op.create_index("ix_jobs_project_pk", "jobs", ["project", "pk"])
    op.add_column("tokens", sa.Column("principal", sa.String(64)))
    op.create_index("ix_tokens_principal", "tokens", ["principal"])
    scopes = sa.Column("scopes", sa.String(64), nullable=False, server_default="read submit")
    op.add_column("tokens", scopes)
    op.add_column("tokens", sa.Column("project", sa.String(64)))
    op.add_column("tokens", sa.Column("last_used_at", sa.BigInteger))
    op.add_column("tokens", _name("created_by", "owner"))
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_in_sqlite()
    else:
        op.drop_constraint("uq_datasets_name", "datasets", type_="unique")
        op.create_unique_constraint("uq_datasets_project_name", "datasets", ["project", "name"])
        op.drop_constraint("uq_ops_sha256", "ops", type_="unique")
        op.create_unique_constraint("uq_ops_sha256_project", "ops", ["sha256", "project"])
    _add_people()


def _name(name: str, default: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(64), nullable=False, server_default=default)


def _create_tables() -> None:
    op.create_table(
        "projects",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("description", sa.Text, nullable=False, server_default=""),
        sa.Column("is_public", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        _name("created_by", "owner"),
        sa.PrimaryKeyConstraint("name", name="pk_projects"),
    )
    op.create_table(
        "principals",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("full_name", sa.String(128), nullable=False, server_default=""),
        sa.Column("project", sa.String(64)),
        sa.Column("is_admin", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("is_disabled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        _name("created_by", "owner"),
        sa.PrimaryKeyConstraint("name", name="pk_principals"),
    )
    op.create_table(
        "members",
        sa.Column("project", sa.String(64), nullable=False),
        sa.Column("principal", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("project", "principal", name="pk_members"),
    )
    op.create_index("ix_members_principal", "members", ["principal"])


def _rebuild_in_sqlite() -> None:
    """Replaces tables whose names were unique: SQLite drops no such constraint.

    Tables that refer to another are replaced with it: one that is referred to cannot be dropped.
    """
    old = sa.MetaData()
    names = ("datasets", "dataset_versions", "dataset_samples", "ops")
    old.reflect(op.get_bind(), only=names)
    new = sa.MetaData(
        naming_convention={
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    for name in names:
        for index in old.tables[name].indexes:
            op.drop_index(str(index.name), name)
        op.rename_table(name, f"old_{name}")
    _new_tables(new)
    new.create_all(op.get_bind(), checkfirst=False)
    connection = op.get_bind()
    for name in names:
        columns = [column.name for column in old.tables[name].columns]
        former = sa.table(f"old_{name}", *map(sa.column, columns))
        connection.execute(sa.insert(new.tables[name]).from_select(columns, sa.select(former)))
    for name in ("dataset_samples", "dataset_versions", "datasets", "ops"):
        op.drop_table(f"old_{name}")


def _new_tables(metadata: sa.MetaData) -> None:
    sa.Table(
        "datasets",
        metadata,
        sa.Column("pk", _KEY, primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("last_version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        _name("project", "default"),
        _name("owner", "owner"),
        _name("created_by", "owner"),
        sa.UniqueConstraint("project", "name"),
        sqlite_autoincrement=True,
    )
    sa.Table(
        "dataset_versions",
        metadata,
        sa.Column("pk", _KEY, primary_key=True),
        sa.Column("dataset_pk", sa.ForeignKey("datasets.pk"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(32)),
        sa.Column("facts", sa.Text),
        sa.Column("refusal", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("checked_at", sa.BigInteger),
        sa.Column("checks", sa.Integer, nullable=False, server_default="0"),
        sa.Column("claimed_at", sa.BigInteger),
        sa.Column("token", sa.String(128)),
        sa.UniqueConstraint("dataset_pk", "number"),
        sa.Index("ix_dataset_versions_sha256", "sha256"),
        sa.Index("ix_dataset_versions_state", "state", "pk"),
        sqlite_autoincrement=True,
    )
    sa.Table(
        "dataset_samples",
        metadata,
        sa.Column("version_pk", sa.ForeignKey("dataset_versions.pk"), primary_key=True),
        sa.Column("sample", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    sa.Table(
        "ops",
        metadata,
        sa.Column("pk", _KEY, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("pushed_by", sa.String(128)),
        _name("project", "default"),
        _name("owner", "owner"),
        _name("created_by", "owner"),
        sa.UniqueConstraint("sha256", "project"),
        sqlite_autoincrement=True,
    )


def _add_people() -> None:
    connection = op.get_bind()
    eras = sa.table("clock_eras", sa.column("pk"), sa.column("read_at"))
    known = connection.execute(sa.select(sa.func.max(eras.c.read_at))).scalar()
    now = known or round(time.time() * 1000)
    projects = sa.table("projects", sa.column("name"), sa.column("created_at"))
    connection.execute(sa.insert(projects).values(name="default", created_at=now))
    principals = sa.table(
        "principals",
        *map(sa.column, ("name", "kind", "full_name", "project", "created_at")),
        sa.column("is_admin", sa.Boolean),
    )
    members = sa.table("members", *map(sa.column, ("project", "principal", "role")))
    owner = {"name": "owner", "kind": "user", "is_admin": True, "created_at": now}
    connection.execute(sa.insert(principals).values(owner))
    connection.execute(
        sa.insert(members).values(project="default", principal="owner", role="owner")
    )
    _rename_caller("user", "owner")
    tokens = sa.table("tokens", *map(sa.column, ("id", "name", "role", "principal", "scopes")))
    taken = {"owner"}
    query = sa.select(tokens.c.id, tokens.c.name, tokens.c.role).order_by(tokens.c.id)
    for token_id, title, former in connection.execute(query).all():
        if former not in _ROLES:
            continue
        role, scopes = _ROLES[former]
        stem = re.sub("[^a-z0-9._@-]+", "-", title.lower()).strip("-._@")[:50] or "account"
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        account = {"name": name, "kind": "service", "full_name": title, "project": "default"}
        account |= {"is_admin": False, "created_at": now}
        connection.execute(sa.insert(principals).values(account))
        connection.execute(sa.insert(members).values(project="default", principal=name, role=role))
        this = sa.update(tokens).where(tokens.c.id == token_id)
        connection.execute(this.values(principal=name, scopes=scopes))
        _rename_caller(f"token {token_id}", name)


def _rename_caller(former: str, name: str) -> None:
    """Keeps what a caller began: its idempotency keys, sweeps, uploads and checks."""
    places = {
        "idempotency_keys": "caller",
        "sweeps": "caller",
        "uploads": "caller",
        "dataset_versions": "token",
    }
    for table_name, column in places.items():
        table = sa.table(table_name, sa.column(column))
        change = sa.update(table).where(table.c[column] == former).values({column: name})
        op.get_bind().execute(change)

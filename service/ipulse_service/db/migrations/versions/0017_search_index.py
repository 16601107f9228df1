"""Add the index of settings and metrics, and fill it from the jobs that are there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_STATISTICS = ("kept", "smallest", "largest", "last")
_EPOCHS = ("smallest_epoch", "largest_epoch", "last_epoch")


def upgrade() -> None:
    """Upgrades to revision 0017."""
    op.create_table(
        "index_names",
        sa.Column("id", _KEY, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_index_names"),
        sa.UniqueConstraint("kind", "name", name="uq_index_names_kind_name"),
        sqlite_autoincrement=True,
    )
    _create_index(
        "job_settings",
        sa.Column("number", sa.Double()),
        sa.Column("value", sa.Text(), nullable=False),
    )
    _create_index(
        "job_metrics",
        *(sa.Column(name, sa.Double(), nullable=False) for name in _STATISTICS),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _EPOCHS),
    )
    _Backfill(op.get_bind()).run()


def _create_index(table: str, *columns: sa.Column[Any]) -> None:
    op.create_table(
        table,
        sa.Column("job_pk", _KEY, nullable=False),
        sa.Column("name_id", _KEY, nullable=False),
        *columns,
        sa.ForeignKeyConstraint(["job_pk"], ["jobs.pk"], name=f"fk_{table}_job_pk_jobs"),
        sa.ForeignKeyConstraint(
            ["name_id"], ["index_names.id"], name=f"fk_{table}_name_id_index_names"
        ),
        sa.PrimaryKeyConstraint("job_pk", "name_id", name=f"pk_{table}"),
        sqlite_with_rowid=False,
    )


class _Backfill:
    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._ids: dict[tuple[str, str], int] = {}
        columns = ("pk", "spec", "summary")
        self._jobs = sa.table("jobs", *map(sa.column, columns))
        self._events = sa.table("events", *map(sa.column, ("job_pk", "seq", "kind", "body")))
        self._names = sa.table("index_names", *map(sa.column, ("id", "kind", "name")))
        keys = ("job_pk", "name_id")
        self._settings = sa.table("job_settings", *map(sa.column, (*keys, "number", "value")))
        self._metrics = sa.table("job_metrics", *map(sa.column, (*keys, *_STATISTICS, *_EPOCHS)))

    def run(self) -> None:
        pks = self._connection.execute(sa.select(self._jobs.c.pk)).scalars().all()
        for pk in pks:
            query = sa.select(self._jobs.c.spec, self._jobs.c.summary)
            spec, summary = self._connection.execute(query.where(self._jobs.c.pk == pk)).one()
            self._add_settings(pk, _flat_settings(json.loads(spec)))
            self._add_metrics(pk, None if summary is None else json.loads(summary))

    def _add_settings(self, pk: int, settings: dict[str, Any]) -> None:
        rows = [
            {"job_pk": pk, "name_id": self._id("setting", name), **_row_of(value)}
            for name, value in settings.items()
        ]
        if rows:
            self._connection.execute(sa.insert(self._settings), rows)

    def _add_metrics(self, pk: int, summary: dict[str, float] | None) -> None:
        events = self._events.c
        bodies = (
            sa.select(events.body)
            .where(events.job_pk == pk, events.kind == "metric")
            .where(events.body.contains('"scope":"epoch"') | events.body.contains('"test_loss"'))
            .order_by(events.seq)
        )
        found = [json.loads(body) for body in self._connection.execute(bodies).scalars()]
        # Version 0.1 stored no scope; only epochs had test metrics.
        epochs = [event for event in found if event.get("scope", "epoch") == "epoch"]
        by_name: dict[str, dict[str, Any]] = {}
        for event in epochs:
            _fold(by_name, event["epoch"], event["values"])
        if summary:
            kept = [e["values"] for e in epochs if e["epoch"] == summary.get("kept_epoch")]
            _keep(by_name, summary, kept[-1] if kept else {})
        rows = [
            {"job_pk": pk, "name_id": self._id("metric", name), **row}
            for name, row in by_name.items()
        ]
        if rows:
            self._connection.execute(sa.insert(self._metrics), rows)

    def _id(self, kind: str, name: str) -> int:
        if (kind, name) not in self._ids:
            self._connection.execute(sa.insert(self._names).values(kind=kind, name=name))
            query = sa.select(self._names.c.id).where(
                self._names.c.kind == kind, self._names.c.name == name
            )
            self._ids[kind, name] = self._connection.execute(query).scalar_one()
        return self._ids[kind, name]


# A copy of what `jobs/search` did at this revision: an upgrade must lead to the same rows whatever
# the service does today. If the service indexes jobs in another way, a later revision indexes them
# again.


def _flat_settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in spec.items():
        if key not in ("version", "name", "metadata"):
            for name, leaf in _leaves(value, key):
                if len(name) <= 200 and len(settings) < 2_000:
                    settings[name] = leaf
    return settings


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}")
    elif isinstance(value, list):
        if len(value) > 16 and not isinstance(value[0], dict):
            yield name, _digest(value)
        else:
            for index, item in enumerate(value):
                yield from _leaves(item, f"{name}.{index}")
    elif isinstance(value, str) and len(value) > 200:
        yield name, f"{value[:100]}... {_digest(value)}"
    else:
        yield name, value


def _digest(value: list[Any] | str) -> str:
    digest = hashlib.sha256(_json(value).encode()).hexdigest()[:12]
    kind = "values" if isinstance(value, list) else "characters"
    return f"{len(value)} {kind}, {digest}"


def _row_of(value: Any) -> dict[str, Any]:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"number": float(value) if is_number else None, "value": _json(value)}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _fold(rows: dict[str, dict[str, Any]], epoch: int, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if name in ("epochs", "learning_rate", "run_seconds", "seconds", "steps"):
            continue
        if len(name) > 200:
            continue
        row = rows.get(name)
        if row is None:
            rows[name] = {**dict.fromkeys(_STATISTICS, value), **dict.fromkeys(_EPOCHS, epoch)}
            continue
        row.update(kept=value, last=value, last_epoch=epoch)
        if value < row["smallest"]:
            row.update(smallest=value, smallest_epoch=epoch)
        if value > row["largest"]:
            row.update(largest=value, largest_epoch=epoch)


def _keep(
    rows: dict[str, dict[str, Any]], summary: Mapping[str, float], kept: Mapping[str, float]
) -> None:
    for name, value in {**kept, **summary}.items():
        if name in rows:
            rows[name]["kept"] = value
        else:
            _fold(rows, int(summary.get("kept_epoch", 0)), {name: value})

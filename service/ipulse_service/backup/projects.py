"""One project as an archive: its jobs, sweeps, data sets and members, for another service.

Ids stay; the keys of rows are given anew where they are added, and times are those that clocks
showed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Select,
    Table,
    false,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from ipulse_core.errors import Conflict, InvalidInput, NotFound, Problem
from ipulse_core.limits import DEFAULT_POOL
from ipulse_core.states import JobState
from ipulse_service.backup.archive_file import ArchiveReader, ArchiveWriter, TableFacts
from ipulse_service.backup.rows import READ_AT_ONCE
from ipulse_service.db import calendar, tables
from ipulse_service.db.audit import AuditEntry
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs.search import name_ids
from ipulse_service.sweeps.rows import SweepState

_ROWS = 1_000  # of one statement

# Rows that belong to a project because the row does that this column refers to.
_PARENTS: dict[Table, Column[Any]] = {
    table: table.c[column]
    for table, column in (
        *((tables.dataset_versions, "dataset_pk"), (tables.dataset_samples, "version_pk")),
        *((tables.submitted_specs, "job_pk"), (tables.job_dependencies, "job_pk")),
        *((tables.attempts, "job_pk"), (tables.events, "job_pk"), (tables.artifacts, "job_pk")),
        *((tables.job_ops, "job_pk"), (tables.job_settings, "job_pk")),
        *((tables.job_metrics, "job_pk"), (tables.sweep_trials, "sweep_pk")),
        *((tables.sweep_rungs, "trial_pk"), (tables.sweep_jobs, "trial_pk")),
    )
}
# With a column `project`; people and service accounts are those that the others name.
_ROOTS = (tables.members, tables.quotas, tables.usage, tables.fair_usage)
_CONTENT = (tables.jobs, tables.sweeps, tables.datasets, tables.ops)
TABLES = (tables.projects, tables.principals, tables.index_names, *_ROOTS, *_CONTENT, *_PARENTS)
# They belong to the whole service, to sessions and to wake-ups.
LEFT_OUT = (
    *(tables.clock_eras, tables.trials, tables.tokens, tables.audit, tables.web_sessions),
    *(tables.group_members, tables.pools, tables.reservations),
    *(tables.device_codes, tables.agents, tables.join_tokens, tables.outbox, tables.uploads),
    *(tables.idempotency_keys, tables.activity, tables.webhooks, tables.deliveries),
)
_TIMES = frozenset({"time", "at", "state_since", "finish_by"})  # and all names that end with _at


@dataclass(frozen=True)
class Added:
    """A project that was added."""

    name: str
    jobs: int
    people: tuple[str, ...]  # unknown before; they have no tokens yet


def write(archive: ArchiveWriter, transaction: Transaction, project: str) -> dict[str, TableFacts]:
    """Writes the rows of a project.

    Raises NotFound, and Conflict if work of the project has not ended and is not paused.
    """
    _refuse_unknown(transaction, project)
    _refuse_unfinished(transaction, project)
    facts = {}
    for table in _in_order():
        hasher, rows = hashlib.sha256(), 0
        with archive.member(f"tables/{table.name}.jsonl") as member:
            for row in _rows(transaction, table, project):
                line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
                hasher.update(line)
                member.write(line)
                rows += 1
        columns = tuple(table.c.keys())
        facts[table.name] = TableFacts(
            columns=columns, rows=rows, sha256=hasher.hexdigest(), last_key=None
        )
    return facts


def belongs(table: Table, project: str) -> ColumnElement[bool]:
    """Returns the condition that a row belongs to a project."""
    if table is tables.projects:
        return table.c.name == project
    if table is tables.index_names:
        uses = (tables.job_settings, tables.job_metrics)
        named = (select(each.c.name_id).where(belongs(each, project)) for each in uses)
        return or_(*(table.c.id.in_(each) for each in named))
    if table is tables.principals:
        columns = [tables.members.c.principal]
        columns += [each.c[name] for each in _CONTENT for name in ("owner", "created_by")]
        named = (select(each).where(belongs(each.table, project)) for each in columns)
        return or_(*(table.c.name.in_(each) for each in named))
    if table in _PARENTS:
        column = _PARENTS[table]
        key = _referred(column)
        return column.in_(select(key).where(belongs(key.table, project)))
    if table not in TABLES:
        return false()
    is_own = table.c.project == project
    return is_own & table.c.state.not_in(tables.HIDDEN) if table is tables.jobs else is_own


def add(transaction: Transaction, reader: ArchiveReader, name: str = "") -> Added:
    """Adds the project of an archive, under its own name or another.

    An empty project of that name gets the content. People and service accounts are those of the
    same name; unknown ones are added.

    Raises Conflict if the project has content, or the service has some of it, and InvalidInput if
    the archive has other tables or columns.
    """
    former = reader.manifest.project
    name = name or former
    _refuse_other_tables(reader)
    for table in _CONTENT:
        query = select(func.count()).select_from(table).where(table.c.project == name)
        if count := transaction.connection.execute(query).scalar_one():
            raise Conflict(
                f"the project {name} has {count} {table.name}: add the archive as a new project "
                "with --project NAME"
            )
    adding = _Adding(transaction, former, name)
    for table in _in_order():
        columns = table.c.keys()
        lines = reader.lines(f"tables/{table.name}.jsonl")
        try:
            adding.add(table, (dict(zip(columns, json.loads(line), strict=True)) for line in lines))
        except IntegrityError as error:
            raise Conflict(
                f"the service has {table.name} of this archive already, in another project: was "
                "it restored there before?"
            ) from error
    jobs = reader.manifest.tables["jobs"].rows
    entry = AuditEntry("project.restore", name, name, f"{jobs} jobs of {former}")
    transaction.audited.append(entry)
    return Added(name, jobs, tuple(adding.people))


class _Adding:
    """Rows on their way into a database, with the keys that they get there."""

    def __init__(self, transaction: Transaction, former: str, name: str) -> None:
        self.people: list[str] = []  # that were added
        self._transaction = transaction
        self._former = former
        self._name = name
        self._pools = set(transaction.connection.execute(select(tables.pools.c.name)).scalars())
        self._keys: dict[Column[Any], dict[Any, Any]] = {}  # new ones by former ones

    def add(self, table: Table, rows: Iterable[dict[str, Any]]) -> None:
        """Adds the rows of a table, after those that they refer to."""
        if table is tables.index_names:
            self._keys[table.c.id] = self._name_ids(list(rows))
            return
        key = table.autoincrement_column
        fitted = (self._fitted(table, row) for row in rows)
        while batch := list(islice(fitted, _ROWS)):
            former = [row.pop(key.name) for row in batch] if key is not None else []
            new = self._unknown(table, batch) if table not in (*_CONTENT, *_PARENTS) else batch
            if not new:
                continue
            statement = insert(table)
            if key is None:
                self._transaction.connection.execute(statement, new)
                continue
            keyed = statement.returning(key, sort_by_parameter_order=True)
            given = self._transaction.connection.execute(keyed, new).scalars()
            self._keys.setdefault(key, {}).update(zip(former, given, strict=True))

    def _fitted(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Returns a row as it is stored here."""
        for column in table.c:
            value = row[column.name]
            if value is None:
                continue
            if column.foreign_keys:  # to a job of another project: None
                row[column.name] = self._keys.get(_referred(column), {}).get(value)
            elif _is_time(column):
                row[column.name] = calendar.stored(value)
            elif column.name == "project" and value == self._former:
                row[column.name] = self._name
        if table is tables.projects:
            row["name"] = self._name
        if table is tables.jobs and row["pool"] not in self._pools:
            row["pool"] = DEFAULT_POOL
        if table is tables.principals:  # what it is in the whole service is not moved
            row |= {"is_admin": False, "issuer": None, "subject": None}
        return row

    def _unknown(self, table: Table, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the rows that the service lacks; used device time is added to what it has."""
        connection = self._transaction.connection
        names = [column.name for column in table.primary_key]
        keys = [tuple(row[name] for name in names) for row in batch]
        query = select(*table.primary_key).where(tuple_(*table.primary_key).in_(keys))
        known = {tuple(row) for row in connection.execute(query)}
        new = [row for row, each in zip(batch, keys, strict=True) if each not in known]
        if table is tables.principals:
            self.people += [row["name"] for row in new]
        if table is tables.usage:
            for row in (row for row in batch if row not in new):
                is_row = [table.c[name] == row[name] for name in names]
                more = {each: table.c[each] + row[each] for each in ("device_ms", "attempts")}
                connection.execute(update(table).where(*is_row).values(more))
        return new

    def _name_ids(self, rows: list[dict[str, Any]]) -> dict[int, int]:
        found: dict[int, int] = {}
        for kind in (name_ids.SETTING, name_ids.METRIC):
            named = {row["name"]: row["id"] for row in rows if row["kind"] == kind}
            ids = name_ids.ensure(self._transaction, kind, named)
            found |= {former: ids[name] for name, former in named.items()}
        return found


def _in_order() -> list[Table]:
    """Returns the tables, each after those that it refers to."""
    return [table for table in tables.metadata.sorted_tables if table in TABLES]


def _rows(transaction: Transaction, table: Table, project: str) -> Iterator[list[Any]]:
    columns: list[ColumnElement[Any]] = list(table.c)
    if table is tables.job_dependencies:  # a job of another project is not in the archive
        needed = select(tables.jobs.c.state).where(tables.jobs.c.pk == table.c.needs_pk)
        state = func.coalesce(needed.scalar_subquery(), table.c.needs_state)
        columns[columns.index(table.c.needs_state)] = state
    query: Select[Any] = select(*columns).where(belongs(table, project))
    query = query.order_by(*table.primary_key).execution_options(yield_per=READ_AT_ONCE)
    times = [place for place, column in enumerate(table.c) if _is_time(column)]
    with transaction.connection.execute(query) as found:
        for row in found:
            values = list(row)
            for place in times:
                if values[place] is not None:
                    values[place] = calendar.shown(values[place])
            yield values


def _refuse_other_tables(reader: ArchiveReader) -> None:
    written = {name: facts.columns for name, facts in reader.manifest.tables.items()}
    if written != {table.name: tuple(table.c.keys()) for table in TABLES}:
        detail = "the archive has not the tables of a project: make it again"
        raise InvalidInput([Problem("/archive", "invalid_archive", detail)], detail)


def _refuse_unknown(transaction: Transaction, project: str) -> None:
    query = select(tables.projects.c.name).order_by(tables.projects.c.name)
    names = transaction.connection.execute(query).scalars().all()
    if project not in names:
        raise NotFound(f"there is no project {project}; there is {', '.join(names)}")


def _refuse_unfinished(transaction: Transaction, project: str) -> None:
    """Raises Conflict for work that both services would do."""
    rest = (
        (tables.jobs, (*tables.ENDED, JobState.PAUSED.value), f"pause -q 'project:{project}'"),
        (tables.sweeps, (SweepState.ENDED, SweepState.PAUSED), "sweep pause SWEEP"),
    )
    for table, states, command in rest:
        query = select(func.count()).select_from(table)
        query = query.where(belongs(table, project), table.c.state.not_in(states))
        if count := transaction.connection.execute(query).scalar_one():
            raise Conflict(
                f"{count} {table.name} of the project {project} have neither ended nor been "
                f"paused, and both services would go on with them: `ipulse {command}` first"
            )


def _referred(column: Column[Any]) -> Column[Any]:
    (key,) = column.foreign_keys
    return key.column


def _is_time(column: Column[Any]) -> bool:
    is_named = column.name.endswith("_at") or column.name in _TIMES
    return is_named and isinstance(column.type, BigInteger)

"""Store what agents have, and what jobs require, in one column each."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"

_OF_JOBS = ("where_labels", "sandbox", "neuron_packages", "tried")
_OF_AGENTS = ("sandbox", "sandbox_message", "neuron_packages")
_QUEUE = ("state", "device", "priority", "queued_at", "pk", "ipus", "data_set", "state_since")


def upgrade() -> None:
    """Upgrades to revision 0045."""
    op.add_column("jobs", sa.Column("requires", sa.Text))
    _convert_jobs()
    op.drop_index("ix_jobs_queue", "jobs")
    for name in _OF_JOBS:
        op.drop_column("jobs", name)
    op.create_index("ix_jobs_queue", "jobs", list(_QUEUE))
    _convert_agents()
    for name in _OF_AGENTS:
        op.drop_column("agents", name)


def _convert_jobs() -> None:
    jobs = sa.table("jobs", *map(sa.column, ("pk", "requires", *_OF_JOBS)))
    connection = op.get_bind()
    has_some = sa.or_(
        jobs.c.sandbox.is_(sa.true()),
        *(jobs.c[name].is_not(None) for name in _OF_JOBS if name != "sandbox"),
    )
    query = sa.select(jobs.c.pk, *(jobs.c[name] for name in _OF_JOBS)).where(has_some)
    for pk, labels, has_code, packages, tried in connection.execute(query).all():
        requires = {
            "labels": json.loads(labels or "{}"),
            "neuron_packages": json.loads(packages or "[]"),
            "software": ["compiler", "sandbox"] if has_code else [],
            "too_little": json.loads(tried or "{}"),
        }
        text = _text({name: value for name, value in requires.items() if value})
        connection.execute(sa.update(jobs).where(jobs.c.pk == pk).values(requires=text))


def _convert_agents() -> None:
    """Keeps what agents said; those that are present say the rest within half a minute."""
    agents = sa.table("agents", *map(sa.column, ("name", "capabilities", *_OF_AGENTS)))
    connection = op.get_bind()
    query = sa.select(agents.c.name, *(agents.c[name] for name in _OF_AGENTS))
    for name, sandbox, message, packages in connection.execute(query).all():
        known = {"neuron_packages": json.loads(packages), "has": {}, "remarks": {}}
        if sandbox is not None:
            known["has"] = {"sandbox": False if sandbox == "missing" else sandbox}
            known["remarks"] = {"sandbox": message} if message else {}
        row = sa.update(agents).where(agents.c.name == name)
        connection.execute(row.values(capabilities=_text(known)))


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))

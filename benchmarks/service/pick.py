"""Measure how long the pick of a job takes in a long queue of many people.

    python -m benchmarks.service pick --jobs 100000 --accounts 200
    python -m benchmarks.service pick --gangs   # IPUs of one machine, of which some are in use
    python -m benchmarks.service pick --postgresql  # on a server of its own
    python -m benchmarks.service pick --database postgresql://USER@HOST/EMPTY_DATABASE

A pick reads what everybody has used, and finds and locks the first job of the one whose turn it is.
Processor time is that of this process and, on a PostgreSQL of this machine, of its server process.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlalchemy import func, insert, select, update

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from benchmarks.service.clients import percentiles
from ipulse.spec import parse_spec
from ipulse_service.agents import registry
from ipulse_service.agents.known_agent import KnownAgent
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import fair_usage, jobs
from ipulse_service.jobs import leases, submission
from ipulse_service.jobs.job import COLUMNS, JobRow
from ipulse_service.jobs.queue import fair_share, order
from ipulse_service.jobs.queue import room as rooms
from ipulse_service.selftest import postgresql

AGENT = KnownAgent("picks", ("cpu", "emulator"), host="pod", ipus={"emulator": 4})
BESIDE = replace(AGENT, name="beside")  # it uses three of the four IPUs
PER_PROJECT = 10  # accounts
AT_ONCE = 5_000  # rows of one statement
SPEC = {"version": 1, "name": "waits", "network": {"layers": [{"neurons": 16}]}}


def fill(database: Database, count: int, accounts: int, gangs: bool) -> None:
    """Store queued jobs of so many people, who have all used some device time.

    With `gangs` nearly all of them need more IPUs than are free.
    """
    resolved = submission.resolve(parse_spec(SPEC))
    with database.write() as transaction:
        submission.store_job(transaction, resolved)
        found = transaction.connection.execute(jobs.select()).mappings().one()
        template = {name: value for name, value in found.items() if name != "pk"}
        chance = random.Random(1)
        names = [_account(number) for number in range(accounts)]
        used = [
            {"project": project, "owner": owner, "device_ms": chance.random() * 1e9}
            for project, owner in names
        ]
        rows = [{**each, "at": transaction.now} for each in used]
        transaction.connection.execute(insert(fair_usage), rows)
    for begin in range(1, count, AT_ONCE):
        with database.write() as transaction:
            rows = []
            for number in range(begin, min(begin + AT_ONCE, count)):
                project, owner = names[number % accounts]
                more = {"id": f"job_{number:024x}", "project": project, "owner": owner}
                more["queued_at"] = template["queued_at"] + number
                if gangs:
                    ipus = chance.choice((2, 4, 4, 1)) if number % accounts < 5 else 4
                    more |= {"device": "emulator", "ipus": ipus}
                rows.append({**template, **more, "priority": chance.choice((0, 0, 0, 5))})
            transaction.connection.execute(insert(jobs), rows)


def picks(database: Database, rounds: int) -> Iterator[tuple[float, float]]:
    """Yield the milliseconds of picks, on the clock and of processors."""
    for _ in range(rounds):
        with database.write() as transaction:
            _ = transaction.now
            server = _server(transaction)
            of_server = _processor_seconds(server)
            began, worked = time.perf_counter(), time.thread_time()
            standing = fair_share.read(transaction)
            room = rooms.of_agent(transaction, standing, AGENT)
            job = order.head(transaction, AGENT.device_kinds, lambda needs: True, standing, room)
            took = time.perf_counter() - began, time.thread_time() - worked
            of_server = _processor_seconds(server) - of_server
        if job is None and not room.rooms.holds:
            raise SystemExit("no job was picked")
        yield took[0] * 1000, (took[1] + of_server) * 1000


def _server(transaction: Transaction) -> Path | None:
    """Return the kernel's account of the server process of a transaction, if it is readable."""
    if transaction.connection.dialect.name != "postgresql":
        return None
    pid = transaction.connection.execute(select(func.pg_backend_pid())).scalar_one()
    account = Path(f"/proc/{pid}/schedstat")
    return account if account.exists() else None


def _processor_seconds(account: Path | None) -> float:
    return int(account.read_text().split()[0]) / 1e9 if account else 0.0


def measure(url: str, count: int, accounts: int, rounds: int, gangs: bool) -> list[Row]:
    """Return a row for the time on the clock and one for that of the processor."""
    database = Database(url)
    try:
        migrations.upgrade(database)
        fill(database, count, accounts, gangs)
        if gangs:
            _use_ipus(database)
        list(picks(database, 10))
        wall, worked = zip(*picks(database, rounds), strict=True)
    finally:
        database.close()
    kind = url.partition(":")[0].partition("+")[0]
    facts = {"database": kind, "jobs": count, "accounts": accounts, "gangs": gangs}
    return [
        {**facts, "clock": name, **percentiles(list(times))}
        for name, times in (("wall", wall), ("processor", worked))
    ]


def _use_ipus(database: Database) -> None:
    """Let a job of another agent on the machine use three IPUs."""
    with database.write() as transaction:
        for agent in (AGENT, BESIDE):
            registry.announce(transaction, agent)
        running = update(jobs).where(jobs.c.pk == select(func.min(jobs.c.pk)).scalar_subquery())
        change = {"state": "running", "attempt": 1, "ipus": 3, "device": "emulator"}
        transaction.connection.execute(running.values(change))
        first = select(*COLUMNS).where(jobs.c.state == "running")
        job = JobRow.of(transaction.connection.execute(first).one())
        leases.start(transaction, job, BESIDE.name, 1e6)


def _account(number: int) -> tuple[str, str]:
    return f"project-{number // PER_PROJECT}", f"person-{number}"


@contextmanager
def _url(given: str | None, own_server: bool) -> Iterator[str]:
    """Yield the URL of the database: the given one, or an empty one in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ipulse-pick-") as directory:
        if not own_server:
            yield given or f"sqlite:///{directory}/ipulse.db"
            return
        Path(directory).chmod(0o711)  # as root the server runs under another account
        server = postgresql.PostgreSQLServer(postgresql.programs(), Path(directory, "server"))
        try:
            server.make()
            yield f"postgresql://{postgresql.USER}@/postgres?host={server.sockets}"
        finally:
            server.stop()


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = command_line.parser("service pick", __doc__)
    parser.add_argument("--jobs", type=int, default=100_000, help="(%(default)s)")
    parser.add_argument("--accounts", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=500, help="(%(default)s)")
    parser.add_argument("--gangs", action="store_true", help="jobs that need several IPUs")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--database", help="an empty one (a file of SQLite)")
    where.add_argument("--postgresql", action="store_true", help="on a PostgreSQL of its own")
    options = parser.parse_args(arguments)
    with _url(options.database, options.postgresql) as url:
        rows = measure(url, options.jobs, options.accounts, options.rounds, options.gangs)
    finish(rows, options.output)

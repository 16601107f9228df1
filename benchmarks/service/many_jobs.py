"""Fills a service with jobs that have succeeded, for the benchmarks of searches and of the page.

Every job is stored as a submission stores it.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import update

from benchmarks.common import command_line
from benchmarks.common.tables import Row, finish
from ipulse.spec import parse_spec
from ipulse_core import strict_json
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.db.tables import jobs
from ipulse_service.jobs import events, submission
from ipulse_service.jobs.job_attributes import JobAttributes
from ipulse_service.jobs.search import metrics_index

AT_ONCE = 250  # jobs of one transaction
EPOCHS = 10
LAYERS = 3


def run(
    command: str,
    description: str | None,
    measure: Callable[[Path, int, int, int, int], list[Row]],
    rounds: int,
    arguments: list[str],
) -> None:
    """Run the command line of a benchmark.

    `measure` gets an empty directory, and the numbers of jobs, of points and of rounds, and a seed.
    """
    parser = command_line.parser(f"service {command}", description)
    parser.add_argument("--jobs", type=int, default=10_000, help="(%(default)s)")
    parser.add_argument("--points", type=int, default=10_000, help="of 20 jobs (%(default)s)")
    parser.add_argument("--rounds", type=int, default=rounds, help="after the first (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the jobs (%(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        rows = measure(home, options.jobs, options.points, options.rounds, options.seed)
    finish(rows, options.output)


@dataclass(frozen=True)
class MadeJob:
    """A job that has succeeded, as the service and other systems store it."""

    name: str
    spec: dict[str, Any]
    tags: tuple[str, ...]
    group: str
    epochs: list[tuple[int, dict[str, float]]]  # with their metrics
    points: int  # of its curves by step


def made(count: int, points: int, random_numbers: random.Random) -> Iterator[MadeJob]:
    """Yield jobs, of which the last 20 have so many points of curves."""
    for number in range(count):
        yield make(number, points if number >= count - 20 else 0, random_numbers)


def make(number: int, points: int, random_numbers: random.Random) -> MadeJob:
    """Make up a job with three layers and ten epochs."""
    layers = [{"neurons": random_numbers.choice([64, 128, 256])} for _ in range(LAYERS)]
    rate = random_numbers.choice([0.001, 0.003, 0.01, 0.03, 0.1])
    spec = {
        "version": 1,
        "name": f"digits-{number}",
        "seed": number % 5,
        "network": {"layers": layers},
        "training": {"optimizer": {"kind": "adam", "learning_rate": rate}},
    }
    tags = random_numbers.sample(["wide", "old", "baseline", "quick"], 2)
    epochs = []
    for epoch in range(1, EPOCHS + 1):
        loss = random_numbers.random()
        values = {"loss": loss, "accuracy": 1 - loss, "test_loss": loss, "test_accuracy": 1 - loss}
        values |= {f"firing_rate/{layer}": loss for layer in range(1, LAYERS + 1)}
        epochs.append((epoch, values))
    return MadeJob(f"digits-{number}", spec, tuple(tags), f"group-{number // 15}", epochs, points)


def fill(database: Database, count: int, points: int, random_numbers: random.Random) -> list[str]:
    """Store jobs, and give the last 20 so many points of curves; return the ids of those."""
    stored: list[str] = []
    for some in batched(made(count, points, random_numbers), AT_ONCE):
        with database.write() as transaction:
            stored.extend(store(transaction, job) for job in some)
    return stored[-20:]


def store(transaction: Transaction, made_job: MadeJob) -> str:
    """Store a job and return its id."""
    attributes = JobAttributes(made_job.tags, made_job.group)
    resolved = submission.resolve(parse_spec(made_job.spec))
    job = submission.store_job(transaction, resolved, attributes=attributes)
    metrics_index.add_epochs(transaction, job.pk, made_job.epochs)
    last_seq = job.last_seq
    if made_job.points:
        events_of_steps = [
            events.NewEvent("metric", strict_json.dumps(body)) for body in _points(made_job.points)
        ]
        last_seq = events.append(transaction, job.pk, last_seq, 1, events_of_steps)
    changed = {"state": "succeeded", "last_seq": last_seq, "started_at": transaction.now}
    changed["finished_at"] = transaction.now
    transaction.connection.execute(update(jobs).where(jobs.c.pk == job.pk).values(changed))
    return job.id


def batched(jobs_made: Iterator[MadeJob], size: int) -> Iterator[list[MadeJob]]:
    """Yield lists of so many jobs; the last may be shorter."""
    while some := list(itertools.islice(jobs_made, size)):
        yield some


def values_of_step(step: int) -> dict[str, float]:
    """Return the metrics of a step, from 1 on."""
    return {"loss": 1 / step, "accuracy": 1 - 1 / step, "samples_per_second": 1000.0}


def _points(count: int) -> Iterator[dict[str, Any]]:
    for step in range(1, count + 1):
        yield {
            "epoch": 1 + step * 10 // (count + 1),
            "epochs": 10,
            "step": step,
            "steps": count,
            "values": values_of_step(step),
            "scope": "step",
            "held_out": "test",
            "eta_seconds": 1.0,
        }

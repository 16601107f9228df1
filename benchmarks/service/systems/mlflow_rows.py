"""Writes finished runs into MLflow's database, run by MLflow's Python.

python -m benchmarks.service.systems.mlflow_rows DATABASE-URI < RUNS

Each line of RUNS is a run as JSON. MLflow's own store makes the tables and the experiment, whose id
is printed. The rows of the runs are those that a client's `create_run`, `log_batch` and
`set_terminated` leave, but of many runs in one transaction: one by one they would take long.
"""

from __future__ import annotations

import itertools
import json
import sys
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from mlflow.store.tracking.dbmodels import models
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from sqlalchemy import insert

AT_ONCE = 200  # runs of one transaction

Rows = list[dict[str, Any]]


def rows_of(run: dict[str, Any], experiment_id: str, artifacts: str) -> Iterator[tuple[Any, Rows]]:
    """Yield each table with the run's rows."""
    run_id = uuid.uuid4().hex
    own = {"run_uuid": run_id}
    yield (
        models.SqlRun,
        [
            {
                **own,
                "name": run["name"],
                "source_type": "UNKNOWN",
                "source_name": "",
                "entry_point_name": "",
                "source_version": "",
                "user_id": "researcher",
                "status": "FINISHED",
                "start_time": run["started_at"],
                "end_time": run["ended_at"],
                "lifecycle_stage": "active",
                "artifact_uri": f"{artifacts}/{run_id}/artifacts",
                "experiment_id": int(experiment_id),
            }
        ],
    )
    tags = {"mlflow.runName": run["name"], "mlflow.user": "researcher", **run["tags"]}
    yield models.SqlTag, [{**own, "key": key, "value": value} for key, value in tags.items()]
    params = run["params"].items()
    yield models.SqlParam, [{**own, "key": key, "value": value} for key, value in params]
    metrics = [
        {**own, "key": key, "value": value, "step": step, "timestamp": at, "is_nan": False}
        for key, value, step, at in run["metrics"]
    ]
    yield models.SqlMetric, metrics
    yield models.SqlLatestMetric, list({metric["key"]: metric for metric in metrics}.values())


def fill(store: SqlAlchemyStore, experiment_id: str, lines: Iterable[str]) -> None:
    """Write all runs."""
    artifacts = store.get_experiment(experiment_id).artifact_location
    remaining = iter(lines)
    while some := list(itertools.islice(remaining, AT_ONCE)):
        tables: dict[Any, Rows] = {}
        for line in some:
            for table, rows in rows_of(json.loads(line), experiment_id, artifacts):
                tables.setdefault(table, []).extend(rows)
        with store.engine.begin() as connection:
            for table, rows in tables.items():
                if rows:
                    connection.execute(insert(table.__table__), rows)


def main() -> None:
    """Fill the database."""
    uri = sys.argv[1]
    store = SqlAlchemyStore(uri, "mlflow-artifacts:/")
    experiment_id = store.create_experiment("jobs")
    fill(store, experiment_id, sys.stdin)
    print(experiment_id)


if __name__ == "__main__":
    main()

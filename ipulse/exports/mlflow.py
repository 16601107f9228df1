"""Runs of an MLflow server or database; a repeat updates them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from ipulse.optional_modules import optional_module
from ipulse_core.errors import Unavailable
from ipulse_core.states import JobState

from .names import named_values
from .record import JobRecord

T = TypeVar("T")
PURPOSE = "the export to MLflow"
JOB_TAG = "ipulse.job"  # finds the run of a job again
_MOST_METRICS = 1000  # of one request
_MOST_PARAMETERS = 100
_MOST_CHARACTERS = 6000  # of a parameter's value
_STATUS = {JobState.SUCCEEDED: "FINISHED", JobState.FAILED: "FAILED", JobState.CANCELLED: "KILLED"}


class MLflowExport:
    """A tracking server, by its address or by that of its database."""

    def __init__(self, uri: str) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing but the export is sent
        tracking = optional_module("mlflow.tracking", PURPOSE, "mlflow")
        self._types = optional_module("mlflow.entities", PURPOSE, "mlflow")
        self._error = optional_module("mlflow.exceptions", PURPOSE, "mlflow").MlflowException
        self._uri = uri
        try:
            self._client = tracking.MlflowClient(tracking_uri=uri)
            self._client.search_experiments(max_results=1)
        except (self._error, OSError) as error:
            raise Unavailable(f"MLflow at {uri}: {_first_line(error)}") from error

    def write(self, record: JobRecord, files: Sequence[Path]) -> str:
        """Write a job as a run, or bring its run up to date, and return the run's id."""
        try:
            return self._write(record, files)
        except self._error as error:
            raise Unavailable(f"MLflow at {self._uri}: {_first_line(error)}") from error

    def _write(self, record: JobRecord, files: Sequence[Path]) -> str:
        run_id = self._run_of(record)
        for name, value in self._tags(record).items():
            self._client.set_tag(run_id, name, value)
        parameters = [
            self._types.Param(name, str(value)[:_MOST_CHARACTERS])
            for name, value in record.chosen_settings.items()
        ]
        for some in _parts(parameters, _MOST_PARAMETERS):
            self._client.log_batch(run_id, params=some)
        for some in _parts(self._new_metrics(record, run_id), _MOST_METRICS):
            self._client.log_batch(run_id, metrics=some)
        for path in files:
            self._client.log_artifact(run_id, str(path))
        status = _STATUS.get(record.job.state)
        if status is not None and record.finished_at is not None:
            self._client.set_terminated(run_id, status, _milliseconds(record.finished_at))
        return run_id

    def _run_of(self, record: JobRecord) -> str:
        experiments = [experiment.experiment_id for experiment in self._experiments()]
        chosen = f"tags.`{JOB_TAG}` = '{record.job.id}'"
        found = self._client.search_runs(experiments, chosen, max_results=1) if experiments else []
        if found:
            return str(found[0].info.run_id)
        name = record.job.json.get("group") or "ipulse"
        experiment = self._client.get_experiment_by_name(name)
        number = (
            self._client.create_experiment(name) if experiment is None else experiment.experiment_id
        )
        run = self._client.create_run(
            number,
            start_time=_milliseconds(record.started_at),
            tags={JOB_TAG: record.job.id},
            run_name=record.job.name,
        )
        return str(run.info.run_id)

    def _experiments(self) -> list[Any]:
        found: list[Any] = []
        page = self._client.search_experiments()
        found.extend(page)
        while page.token:
            page = self._client.search_experiments(page_token=page.token)
            found.extend(page)
        return found

    def _tags(self, record: JobRecord) -> dict[str, str]:
        job = record.job
        tags = {f"ipulse.tag.{tag}": "true" for tag in job.json.get("tags", ())}
        tags |= {f"ipulse.metadata.{name}": text for name, text in job.json["metadata"].items()}
        if job.json.get("notes"):
            tags["mlflow.note.content"] = job.json["notes"]
        return {
            JOB_TAG: job.id,
            "mlflow.runName": job.name,
            "ipulse.state": job.state.value,
            **tags,
        }

    def _new_metrics(self, record: JobRecord, run_id: str) -> list[Any]:
        """Return the metrics that the run does not have yet."""
        metrics = [
            self._types.Metric(name, value, _milliseconds(point.time), point.step)
            for point in record.points
            for name, value in named_values(point)
        ]
        end, last = record.finished_at, record.points[-1].step if record.points else 0
        if end is not None:
            metrics += [
                self._types.Metric(f"final/{name}", value, _milliseconds(end), last)
                for name, value in record.summary.items()
            ]
        known = {
            (name, metric.step)
            for name in {metric.key for metric in metrics}
            for metric in self._client.get_metric_history(run_id, name)
        }
        return [metric for metric in metrics if (metric.key, metric.step) not in known]


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__

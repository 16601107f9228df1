"""Offline runs for W&B: folders that `wandb sync` uploads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ipulse.optional_modules import optional_module

from .names import named_values
from .record import JobRecord

PURPOSE = "the export to W&B"
_AXES = ("epoch", "training_step", "training_time")


def write_run(record: JobRecord, to: Path, files: Sequence[Path]) -> Path:
    """Write a job as an offline run and return its folder, in `to`/wandb.

    The run has the job's id, so that an upload of a repeat continues the same run; the folder of
    an earlier export is replaced. Nothing leaves this machine before `wandb sync`. Raises
    MissingDependency.
    """
    os.environ["WANDB_ERROR_REPORTING"] = "false"  # nothing leaves this machine
    wandb = optional_module("wandb", PURPOSE, "wandb")
    to.mkdir(parents=True, exist_ok=True)
    for former in (to / "wandb").glob(f"offline-run-*-{record.job.id}"):
        shutil.rmtree(former)
    run = wandb.init(
        project=record.job.json.get("group") or "ipulse",
        id=record.job.id,
        name=record.job.name,
        notes=record.job.json.get("notes") or None,
        tags=list(record.job.json.get("tags", ())),
        config=record.job.json["spec"],
        dir=str(to),
        settings=wandb.Settings(
            mode="offline",
            root_dir=str(to),
            console="off",
            silent=True,
            disable_git=True,
            save_code=False,
            x_disable_stats=True,
            x_disable_meta=True,
            x_disable_machine_info=True,
        ),
    )
    try:
        for axis in _AXES:
            run.define_metric(axis)
        run.define_metric("*", step_metric="training_step")
        _log(run, record)
        for name, value in record.summary.items():
            run.summary[f"final/{name}"] = value
        for path in files:
            run.save(str(path), base_path=str(path.parent), policy="now")
        folder = Path(run.dir).parent
    finally:
        run.finish(exit_code=0 if record.job.succeeded else 1)
    return folder


def _log(run: Any, record: JobRecord) -> None:
    """Log one row of history per step; an epoch shares the row of its last step."""
    rows: dict[int, dict[str, float]] = {}
    for point in record.points:
        row = rows.setdefault(point.step, {})
        row |= dict(named_values(point))
        row["epoch"], row["training_step"] = point.epoch, point.step
        row["training_time"] = (point.time - record.started_at).total_seconds()
        row["_timestamp"] = point.time.timestamp()
    for step in sorted(rows):
        run.log(rows[step], step=step)

"""The targets of `ipulse export`."""

from __future__ import annotations

from typing import Literal

Target = Literal["tensorboard", "mlflow", "wandb", "csv", "parquet", "archive"]
DEFAULT_MLFLOW = "sqlite:///mlflow.db"


def default_place(target: Target) -> str:
    """Return where an export goes if nothing else is chosen."""
    return DEFAULT_MLFLOW if target == "mlflow" else target

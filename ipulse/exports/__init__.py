"""Exports of jobs to TensorBoard, MLflow, W&B, tables and archives."""

from .record import JobRecord, record_of

__all__ = ["JobRecord", "record_of"]

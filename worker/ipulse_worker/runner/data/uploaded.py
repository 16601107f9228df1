"""Uploaded data sets: the agent links the folder with their files into the work directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Mapping

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.data_sets import UPLOADED_FOLDER, UPLOADED_NAME
from ipulse_core.spec.kind_fields import field_of

if TYPE_CHECKING:
    from ipulse.spec import Data


def directory_of(data: Data, work_dir: Path, environment: Mapping[str, str]) -> DataDirectory:
    """Return the directory with the files of a data set."""
    if is_uploaded(data):
        return DataDirectory(work_dir / UPLOADED_FOLDER)
    return DataDirectory.from_environment(environment)


def is_uploaded(data: Data) -> bool:
    """Return whether a user has uploaded the data set."""
    return field_of(data, "dataset") is not None


def file_name(data: Data) -> str:
    """Return the name of the data set's file or folder in its directory, without a suffix."""
    name: str = UPLOADED_NAME if is_uploaded(data) else field_of(data, "name")
    return name

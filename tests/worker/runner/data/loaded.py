"""A data set that needs no file, as a runner loads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ipulse_core.data_files.directory import DataDirectory
from ipulse_worker.runner.data import Dataset
from ipulse_worker.runner.data.load import load

if TYPE_CHECKING:
    from ipulse.spec import Data


def loaded(data: Data) -> Dataset:
    return load(data, DataDirectory(None), lambda done, samples: None)

"""Errors of reading data sets."""

from __future__ import annotations

from ipulse_core.errors import Unavailable


class DataUnavailable(Unavailable):
    """The data set cannot be read on this worker."""

    code = "data_unavailable"


class LibraryMissing(DataUnavailable):
    """A Python package that reads the data set is missing on this worker."""


class DataInvalid(DataUnavailable):
    """A file of the data set does not have the required format."""

    code = "data_invalid"

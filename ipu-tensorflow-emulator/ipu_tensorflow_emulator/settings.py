"""Settings of the emulation, read from the environment."""

from __future__ import annotations

import os
from typing import List

SWITCH = "IPU_TENSORFLOW_EMULATOR"
IPUS = "IPULSE_EMULATOR_IPUS"
TILES = "IPU_TENSORFLOW_EMULATOR_TILES"
REPORT = "IPU_TENSORFLOW_EMULATOR_REPORT"
QUIET = "IPU_TENSORFLOW_EMULATOR_QUIET"
TF1 = "IPU_TENSORFLOW_EMULATOR_TF1"
METRICS = "IPU_TENSORFLOW_EMULATOR_METRICS"
_DEFAULT_IPUS = 4
_MAXIMUM_IPUS = 64


class SettingsError(ValueError):
    """A setting has a value that it cannot have."""


def _number(name: str, default: int, maximum: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isdigit() or not 1 <= int(text) <= maximum:
        raise SettingsError(f"{name} must be a whole number from 1 to {maximum}; it is {text!r}")
    return int(text)


def attached_ipus() -> int:
    """Return the number of emulated IPUs that scripts may use."""
    return _number(IPUS, _DEFAULT_IPUS, _MAXIMUM_IPUS)


def tiles_per_ipu(default: int) -> int:
    """Return the tiles of an emulated IPU; the default is that of the architecture."""
    return _number(TILES, default, default)


def report_folder() -> str:
    """Return the folder for report files, or an empty text."""
    return os.environ.get(REPORT, "")


def is_quiet() -> bool:
    """Return whether the report is not printed."""
    return os.environ.get(QUIET, "0") not in ("", "0")


def is_tf1() -> bool:
    """Return whether scripts see the interface of TensorFlow 1 as `tensorflow`."""
    return os.environ.get(TF1, "0") not in ("", "0")


def outfeed_metrics() -> List[str]:
    """Return the names of metrics that scripts send through outfeed queues."""
    return [name for name in os.environ.get(METRICS, "").split(",") if name]

"""Sweeps: one spec with several values of some settings, and how its trials are chosen."""

from .config import RunningJobs, SweepConfig, SweepMethod, parse_sweep
from .objective import SweepLimits, SweepObjective
from .parameters import AddedValues, SweepParameter, TogetherAxis
from .space import SearchSpace, replica_seeds, with_settings_at
from .stopping import AshaStopping, MedianStopping, SweepStopping

__all__ = [
    "AddedValues",
    "AshaStopping",
    "MedianStopping",
    "RunningJobs",
    "SearchSpace",
    "SweepConfig",
    "SweepLimits",
    "SweepMethod",
    "SweepObjective",
    "SweepParameter",
    "SweepStopping",
    "TogetherAxis",
    "parse_sweep",
    "replica_seeds",
    "with_settings_at",
]

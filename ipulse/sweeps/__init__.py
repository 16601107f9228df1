"""Sweeps: one spec with several values of some settings, and how its trials are chosen."""

from .config import SweepConfig, parse_sweep
from .objective import SweepLimits, SweepObjective
from .parameters import SweepParameter, TogetherAxis
from .space import SearchSpace, with_settings_at

__all__ = [
    "SearchSpace",
    "SweepConfig",
    "SweepLimits",
    "SweepObjective",
    "SweepParameter",
    "TogetherAxis",
    "parse_sweep",
    "with_settings_at",
]

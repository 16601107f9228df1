"""Experiments written in Python: `Experiment` and the parts of which it is made."""

from .experiment import Experiment
from .part import SpecPart

__all__ = ["Experiment", "SpecPart"]

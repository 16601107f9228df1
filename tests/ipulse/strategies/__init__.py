"""Hypothesis strategies: any valid object of a model, and any document of it."""

from .specs import documents, specs
from .values import values

__all__ = ["documents", "specs", "values"]

"""Loads the op libraries for a SavedModel or a serialized graph, which only name the ops."""

from __future__ import annotations

from ipulse_ops.lif.cpu import op_library
from ipulse_ops.sparse import native


def load_ops() -> None:
    """Register every op of the layers with its gradient; build the libraries if necessary.

    Raises MissingCompiler, BuildFailed.
    """
    op_library.library()
    native.library()

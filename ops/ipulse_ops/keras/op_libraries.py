"""The op libraries, for what only names their ops: a SavedModel, a serialized graph."""

from __future__ import annotations

from ipulse_ops.lif.cpu import op_library
from ipulse_ops.sparse import native


def load_ops() -> None:
    """Registers every op that the layers use, with its gradient; built first if need be.

    Raises MissingCompiler, BuildFailed.
    """
    op_library.library()
    native.library()

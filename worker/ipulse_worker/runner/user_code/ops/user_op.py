"""A custom op as TensorFlow for the IPU loads it: its files and its texts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Tuple

from ipulse_core.op_manifest.manifest import OpManifest
from ipulse_worker.runner.user_code.ops.build import CODELETS, LIBRARY


class UserOpFiles(NamedTuple):
    """The arguments of `precompiled_user_op` that do not depend on the network."""

    library_path: str
    gp_path: str  # "" without codelets
    op_name: str
    attributes: str
    gradient_attributes: str
    inputs_with_gradients: Tuple[int, ...]

    @classmethod
    def of(cls, build: Path, manifest: OpManifest, attributes: str) -> UserOpFiles:
        """Return the arguments for a build, and a layer with these attributes."""
        fixed = manifest.fixed_gradient_attributes
        return cls(
            str(build / LIBRARY),
            str(build / CODELETS) if manifest.codelets else "",
            manifest.op_name,
            attributes,
            attributes if fixed is None else fixed,
            tuple(manifest.gradients),
        )

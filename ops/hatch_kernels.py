"""Compiles the CPU kernels and the Poplar op into a wheel, if there is a C++ compiler.

The Poplar op needs the emulator, which is next to this package in a checkout; a source archive has
none. What is not in a wheel is compiled at its first use; a wheel without both is pure Python.
An editable installation compiles nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelBuildHook(BuildHookInterface[BuilderConfig]):
    """Adds the libraries and the platform's tag to a wheel."""

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        """Build the libraries for a wheel that is not editable."""
        if version == "editable":
            return
        root = Path(self.root)
        # In a checkout, ipulse_core is next to this package; a source archive contains a copy.
        beside = [str(root.parent / "core"), str(root.parent / "emulator")]
        sys.path[:0] = [str(root), *beside, str(root / "build_support")]
        from ipulse_core.build_cache.shipped import add_to_wheel
        from ipulse_core.build_cache.toolchain import NativeError
        from ipulse_ops.lif.cpu import libraries

        self._scratch = tempfile.TemporaryDirectory()
        folder = Path(self._scratch.name) / "shipped"
        try:
            libraries.kernels().ship(folder)
        except NativeError as error:
            self.app.display_warning(f"the wheel will contain no compiled kernels: {error}")
        else:
            add_to_wheel(build_data, folder, "ipulse_ops/lif/cpu")
        folder = Path(self._scratch.name) / "shipped-op"
        try:
            from ipulse_ops.lif.poplar.build import ship_op

            ship_op(folder)
        except (ImportError, NativeError) as error:
            self.app.display_warning(f"the wheel will contain no compiled Poplar op: {error}")
        else:
            add_to_wheel(build_data, folder, "ipulse_ops/lif/poplar")

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        """Remove the intermediate files."""
        if version != "editable":
            self._scratch.cleanup()

"""Compiles the emulator into its wheel, where a C++ compiler is present."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ShippedEmulator(BuildHookInterface[BuilderConfig]):
    """Adds the prefix (headers, library and popc) to the wheel."""

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        """Build the prefix. Without a working compiler the wheel contains the sources only."""
        if version == "editable":
            return
        root = Path(self.root)
        # In a checkout, ipulse_core is next to this package; a source archive contains a copy.
        sys.path[:0] = [str(root), str(root.parent / "core"), str(root / "build_support")]
        from ipulse_core.build_cache.shipped import add_to_wheel
        from ipulse_core.build_cache.toolchain import NativeError
        from poplar_emulator.build import ship_prefix

        self._scratch = tempfile.TemporaryDirectory()
        folder = Path(self._scratch.name) / "shipped"
        try:
            ship_prefix(folder)
        except NativeError as error:
            self.app.display_warning(f"the wheel will contain no compiled emulator: {error}")
        else:
            add_to_wheel(build_data, folder, "poplar_emulator")

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        """Remove the intermediate files."""
        if version != "editable":
            self._scratch.cleanup()

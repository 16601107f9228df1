"""Writes the commit into wheels and source archives, so that an installation knows its version."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitBuildHook(BuildHookInterface[BuilderConfig]):
    """Adds ipulse_core/_build.py, except to editable installations, which ask git."""

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        """Write the file outside of the checkout, which stays as it is."""
        sys.path.insert(0, self.root)
        from ipulse_core.version import BUILD_FILE, build_file_text

        if version == "editable" or (Path(self.root) / "ipulse_core" / BUILD_FILE).exists():
            return
        self._scratch = tempfile.TemporaryDirectory()
        file = Path(self._scratch.name) / BUILD_FILE
        file.write_text(build_file_text(), encoding="utf-8")
        build_data["force_include"][str(file)] = f"ipulse_core/{BUILD_FILE}"

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        """Delete the file."""
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()

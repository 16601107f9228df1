"""Writes the commit into wheels and source archives, so that an installation knows its version."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitBuildHook(BuildHookInterface[BuilderConfig]):
    """Adds ipulse_core/commit.txt, except to editable installations, which ask git."""

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        """Write the file outside of the checkout, which stays as it is."""
        sys.path.insert(0, self.root)
        from ipulse_core.version import COMMIT_FILE, write_commit_file

        if version == "editable" or (Path(self.root) / "ipulse_core" / COMMIT_FILE).exists():
            return
        self._scratch = tempfile.TemporaryDirectory()
        write_commit_file(Path(self._scratch.name))
        file = str(Path(self._scratch.name) / COMMIT_FILE)
        build_data["force_include"][file] = f"ipulse_core/{COMMIT_FILE}"

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        """Delete the file."""
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()

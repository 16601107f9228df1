"""Compiles the CPU kernels into a wheel, where the machine that builds it has a C++ compiler.

Without a compiler the wheel is pure Python, and the kernels are compiled at their first use.
An editable installation compiles nothing.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds liblif.so and the platform's tag to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        """Build the kernels for a wheel that is not editable."""
        if version == "editable":
            return
        # The package itself, and in a checkout its neighbour, which the environment may not have.
        sys.path[:0] = [self.root, str(Path(self.root).parent / "core")]
        try:
            from ipulse_core.build_cache.toolchain import NativeError
            from ipulse_ops.lif.cpu import libraries
        except ImportError as error:
            self.app.display_warning(f"no kernels in this wheel: {error}")
            return
        shipped = Path(self.directory) / "shipped-kernels"
        shutil.rmtree(shipped, ignore_errors=True)
        try:
            libraries.kernels().ship(shipped)
        except NativeError as error:
            self.app.display_warning(f"no kernels in this wheel: {error}")
            return
        target = libraries.SHIPPED.relative_to(self.root)
        build_data["force_include"][str(shipped)] = target.as_posix()
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: Dict[str, Any], artifact_path: str) -> None:
        """Remove the copy of the library."""
        shutil.rmtree(Path(self.directory) / "shipped-kernels", ignore_errors=True)

"""The command popc of the package: the emulator's compiler of codelets, or an enabled SDK's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ipulse_core.build_cache.toolchain import NativeError
from poplar_emulator.build import POPC, build


def popc() -> int:
    """Replace this process by popc; returns an exit status only if the emulator cannot be built.

    Where the package's commands come before those of an enabled SDK on the PATH, it is the SDK's.
    """
    enabled = Path(os.environ.get("POPLAR_SDK_ENABLED") or os.devnull) / POPC
    try:
        command = str(enabled if enabled.is_file() else build() / POPC)
    except NativeError as error:
        sys.stderr.write(f"popc: the emulator cannot be built: {error}\n")
        return 1
    os.execv(command, [command, *sys.argv[1:]])  # noqa: S606 (no shell)

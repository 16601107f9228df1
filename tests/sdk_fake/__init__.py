"""A strict stand-in for a Poplar SDK with its driver: tests only.

It is laid out as an SDK is. popc takes the options that the SDK's documents. Programs run on the
emulator, but only find IPUs where a driver would: device files that can be opened, or a controller
that answers in the network. It takes no variable of IPUlse, and leaves a profile where the engine
options say.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import List

import pytest

from ipulse_core.build_cache.toolchain import compiler
from ipulse_worker.runner.devices import ipu_link
from poplar_emulator.build import SOURCES, build

VERSION = "POPLAR version 3.3.0 (0123456789)"
_HERE = Path(__file__).parent
_POPC = f"""#!/bin/sh
case "$1" in --version) echo "{VERSION}"; echo "clang version 16.0.0"; exit 0;; esac
for word; do
  case "$word" in
    -O[0-3s]|-o|-I*|-D*|-g|-Werror|--target=*) ;;
    -*) echo "popc: error: unknown option $word" >&2; exit 1;;
  esac
done
exec "$(dirname "$0")/popc-emulated" "$@"
"""


def make_sdk(root: Path) -> Path:
    """Make an SDK below a folder and return its folder with Poplar."""
    sdk = root / "poplar-debian-3.3.0"
    shutil.copytree(str(build()), str(sdk), copy_function=_link)
    popc = sdk / "bin" / "popc"
    popc.rename(sdk / "bin" / "popc-emulated")
    popc.write_text(_POPC)
    popc.chmod(0o755)
    # -lpvti links the driver into a program: a linker leaves out a shared library of which it uses
    # nothing. No other library but the emulator's own, which no SDK has, needs libpvti.
    for name in ("lib/libpoplar_custom_op.so", "bin/gc-info", "bin/gc-monitor"):
        (sdk / name).unlink()
    script = sdk / "lib" / "libpvti.so"
    script.unlink()  # a link, perhaps
    script.write_text("INPUT(driver.o pvti.o)\n")
    for source in (_HERE / "driver.cc", SOURCES / "poplibs" / "pvti" / "pvti.cc"):
        compiled = ["-c", str(source), "-o", str(sdk / "lib" / f"{source.stem}.o")]
        command = [*compiler(), "-std=c++17", "-fPIC", f"-I{sdk / 'include'}", *compiled]
        subprocess.run(command, check=True)
    (sdk / "python").mkdir()
    (sdk / "python" / "pva.py").write_text("from poplar_emulator.pva import openReport\n")
    for path in [sdk, *sdk.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    return sdk


def install(sdk: Path, devices: Path, cards: int, patch: pytest.MonkeyPatch) -> None:
    """Give this machine the SDK, as enable.sh does, and cards that are no IPUs but can be opened.

    devices: a new folder in place of /dev.
    """
    patch.setenv("PATH", f"{sdk / 'bin'}:{os.environ['PATH']}")
    patch.setenv("LD_LIBRARY_PATH", str(sdk / "lib"))
    patch.setenv("POPLAR_SDK_ENABLED", str(sdk))
    patch.setenv("PYTHONPATH", str(sdk / "python"))
    make_cards(devices, cards)
    patch.setattr(ipu_link, "DEVICES", devices)
    for name in (*ipu_link.FABRIC_VARIABLES, ipu_link.CONFIG_VARIABLE, ipu_link.NETWORK_VARIABLE):
        patch.delenv(name, raising=False)


def make_cards(devices: Path, cards: int) -> List[str]:
    """Make the device files of some cards and return their names."""
    devices.mkdir()
    names = [f"ipu{n}{part}" for n in range(cards) for part in ("", "_ex", "_mailbox", "_mem")]
    for name in names:
        (devices / name).symlink_to("/dev/null")
    return names


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)

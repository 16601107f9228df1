"""The report of a script: its custom ops on tiles, and apart from them the ops of the host.

The script's process writes it and may forge it: files are read only if they are what they should.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, List

from ipulse_worker.runner.profile.merged_profile import FORGED, ProfiledPart, merged, op_renamed
from ipulse_worker.runner.user_code.programs.outputs import (
    MAX_PROFILE_BYTES,
    PROFILE,
    SUMMARY,
    OutputFile,
)

REPORT = "script_report.json"
MAX_OPS = 32  # whose profiles are merged


def script_files(folder: Path) -> List[OutputFile]:
    """Return the files to store of the report in a folder, and one profile of all custom ops."""
    found = []
    for name, stored, media_type in (
        ("report.json", REPORT, "application/json"),
        ("report.txt", SUMMARY, "text/plain"),
    ):
        if (folder / name).is_file():
            found.append(OutputFile(folder / name, stored, "output", media_type))
    profile = folder / PROFILE
    if _merge(folder, profile):
        found.append(OutputFile(profile, PROFILE, "poplar_profile", "application/json"))
    return found


def _merge(folder: Path, to: Path) -> bool:
    """Write one profile of all custom ops; return whether there is one.

    Ops on devices with other tiles than the first op's are not in it.
    """
    parts: List[ProfiledPart] = []
    tiles = None
    for number in range(1, MAX_OPS + 1):
        for path in folder.glob(f"custom_op_{number}_*.json"):
            with suppress(OSError, *FORGED):
                document = _document(path)
                count = document["compilation"]["target"]["numTiles"]
                tiles = count if tiles is None else tiles
                name = path.stem.split("_", 3)[3]
                if count == tiles:
                    parts.append(ProfiledPart(document, op_renamed(f"op{number}", name)))
    if not parts:
        return False
    with suppress(OSError, *FORGED):
        text = json.dumps(merged(parts) if len(parts) > 1 else parts[0].document)
        with suppress(FileNotFoundError):
            os.unlink(str(to))
        to.write_text(text, "utf-8")
        return True
    return False


def _document(path: Path) -> Dict[str, Any]:
    if path.stat().st_size > MAX_PROFILE_BYTES:
        raise ValueError
    found: Dict[str, Any] = json.loads(path.read_bytes())
    return found

"""Writes a new project of a custom op: one that works, to be changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List

from ipulse_core.errors import Conflict, InvalidInput, Problem

TEMPLATES = Path(__file__).resolve().parent
# A template's folder by whether it is a layer of networks, and the name that is replaced in it.
_TEMPLATES = {False: ("template", "multiply_op"), True: ("layer_template", "pool_op")}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def write_project(name: str, folder: Path, is_layer: bool = False) -> List[Path]:
    """Write the files and return their paths.

    is_layer: the op is to be a layer of networks that jobs train.

    Raises InvalidInput for a name that is no identifier; Conflict if the folder has files; OSError.
    """
    if not _NAME.fullmatch(name):
        detail = f"{name[:60]!r}: expected lower-case letters, digits and underscores"
        raise InvalidInput([Problem("/name", "invalid", detail)], "wrong name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(f"{folder} exists already: name another folder with --to")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    template, replaced = _TEMPLATES[is_layer]
    for source in sorted(path for path in (TEMPLATES / template).iterdir() if path.is_file()):
        path = folder / source.name.replace(replaced, name)
        path.write_text(source.read_text("utf-8").replace(replaced, name), "utf-8")
        written.append(path)
    return written

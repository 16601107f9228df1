"""Packages of custom ops for tests: the project that `ipulse op new --layer` writes, changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

from ipulse_core.source_package import read_folder, write_package
from poplar_emulator.op_project.scaffold import write_project

NAME = "pool_op"


class Packed(NamedTuple):
    """A package on the disk, and its name in a spec."""

    path: Path
    reference: str

    @property
    def digest(self) -> str:
        return self.reference.rpartition(":")[2]


def project(folder: Path, files: Optional[Dict[str, str]] = None, **manifest: Any) -> Path:
    """Write the project, with other files and other fields of op.json; None removes a field."""
    write_project(NAME, folder, is_layer=True)
    document = json.loads((folder / "op.json").read_text())
    document.update(manifest)
    document = {name: value for name, value in document.items() if value is not None}
    (folder / "op.json").write_text(json.dumps(document))
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    return folder


def packed(folder: Path, name: str = NAME, scratch: Optional[Path] = None) -> Packed:
    """Pack a project."""
    path = (scratch or folder.parent) / f"{folder.name}.tar"
    with path.open("wb") as out:
        write_package(read_folder(folder).files, out)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Packed(path, f"{name}@sha256:{digest}")


def layer(reference: str, neurons: int, **attributes: Any) -> Dict[str, Any]:
    """Return the layer of a spec."""
    return {"kind": "op", "op": reference, "neurons": neurons, "attributes": attributes}

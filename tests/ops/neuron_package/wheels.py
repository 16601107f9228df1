"""Wheels with neurons, made and installed by tests."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, Optional

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "neuron_package" / "coupled_dendrites" / "__init__.py"
NAME, MODULE = "coupled_dendrites", "coupled_dendrites"
_INFO = f"{NAME}-1.0.dist-info"


def source() -> str:
    return EXAMPLE.read_text("utf-8")


def wheel(folder: Path, text: Optional[str] = None, more: Optional[Dict[str, str]] = None) -> Path:
    """Make a wheel of the example, with another source, or with more files."""
    files = {
        f"{MODULE}/__init__.py": source() if text is None else text,
        f"{_INFO}/METADATA": "Metadata-Version: 2.1\nName: coupled-dendrites\nVersion: 1.0\n",
        f"{_INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{_INFO}/entry_points.txt": f"[ipulse.neurons]\n{NAME} = {MODULE}:CoupledDendrites\n",
        **(more or {}),
    }
    record = "".join(f"{name},sha256={_hash(text)},{len(text)}\n" for name, text in files.items())
    files[f"{_INFO}/RECORD"] = f"{record}{_INFO}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(str(path), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def install(path: Path, folder: Path) -> Path:
    """Unpack a wheel into a folder for sys.path, and note the installer as installers do."""
    with zipfile.ZipFile(str(path)) as archive:
        archive.extractall(str(folder))
    (folder / _INFO / "INSTALLER").write_text("test\n", "utf-8")
    with (folder / _INFO / "RECORD").open("a", encoding="utf-8") as record:
        record.write(f"{_INFO}/INSTALLER,,\n")
    return folder


@contextmanager
def importable(folder: Path) -> Iterator[Path]:
    """Have a folder on sys.path, and forget the module afterwards."""
    sys.path.insert(0, str(folder))
    sys.modules.pop(MODULE, None)
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(MODULE, None)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

"""Checks of files in a process of its own, as the service makes them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ipulse_service.datasets import checking
from ipulse_service.datasets.facts import DatasetCheck
from ipulse_service.reading.isolation import Isolation

SECRET = b"do not read this"


def checked(content: bytes | Path, folder: Path) -> DatasetCheck:
    path = folder / "upload"
    if isinstance(content, Path):
        path = content
    else:
        path.write_bytes(content)
    return checking.check(Isolation(False), path, folder / "scratch", lambda: False)


def refusal(content: bytes | Path, folder: Path) -> str:
    result = checked(content, folder)
    assert result.facts is None
    assert result.refusal is not None, result
    assert "Traceback" not in result.refusal
    assert str(folder) not in result.refusal
    assert list((folder / "scratch").iterdir()) == []
    return result.refusal


def members(*files: tuple[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return content.getvalue()


def npy(array: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()

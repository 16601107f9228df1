"""Arrays of all versions of the npy format are read alike; long headers are refused."""

import io
import zipfile
from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.npz_file import opened_npz, read

pytestmark = pytest.mark.old_python

ARRAY = np.arange(60, dtype=np.float32).reshape(5, 12)


def npy(array: Any, version: Tuple[int, int]) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, version=version)
    return content.getvalue()


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(str(path), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


@pytest.mark.filterwarnings("ignore:Stored array in format")
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_is_read(version: Tuple[int, int], tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", a=npy(ARRAY, version), f=npy(np.asfortranarray(ARRAY), version))
    found = read(path)
    np.testing.assert_array_equal(found["a"], ARRAY)
    np.testing.assert_array_equal(found["f"], ARRAY)
    with opened_npz(path, None) as file:
        for name in "af":
            np.testing.assert_array_equal(np.concatenate(list(file.rows(name, 2))), ARRAY)


@pytest.mark.filterwarnings("ignore:Stored array in format")
def test_other_versions_and_long_headers_are_refused(tmp_path: Path) -> None:
    whole = npy(ARRAY, (2, 0))
    long = whole[:8] + (2**31).to_bytes(4, "little") + b" " * 2**20
    for content in (whole[:6] + b"\x04" + whole[7:], long, whole[:10]):
        with pytest.raises(DataInvalid):
            read(npz(tmp_path / "a.npz", a=content))

"""Files that somebody made to read, write or fill what is not theirs."""

from __future__ import annotations

import io
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.service.datasets.checks import SECRET, members, npy, refusal
from tests.service.datasets.files import hdf5, n_mnist, spikes


class TestNpz:
    LABELS = npy(np.arange(4) % 2)
    SPIKES = npy(np.ones((4, 2, 3), bool))

    def test_pickles_are_not_read(self, tmp_path: Path) -> None:
        mark = tmp_path / "executed"

        class Evil:
            def __reduce__(self) -> Any:
                return (os.system, (f"touch {mark}",))

        content = io.BytesIO()
        np.savez(content, spikes=np.array([Evil()] * 4, dtype=object), labels=np.arange(4) % 2)
        assert "object" in refusal(content.getvalue(), tmp_path)
        assert not mark.exists()

    def test_arrays_of_other_names_are_listed_with_the_line_that_renames_them(
        self, tmp_path: Path
    ) -> None:
        content = members(("x_train.npy", self.SPIKES), ("y_train.npy", self.LABELS))
        message = refusal(content, tmp_path)
        assert "spikes=old['x_train'], labels=old['y_train']" in message

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_a_name_twice(self, tmp_path: Path) -> None:
        content = members(
            ("labels.npy", self.LABELS), ("spikes.npy", self.SPIKES), ("labels.npy", self.LABELS)
        )
        assert "twice" in refusal(content, tmp_path)

    def test_members_that_share_bytes(self, tmp_path: Path) -> None:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("labels.npy", self.LABELS)
            archive.writestr("spikes.npy", self.LABELS)
            archive.filelist[1].header_offset = 0
        assert "share bytes" in refusal(content.getvalue(), tmp_path)

    def test_an_impossible_shape(self, tmp_path: Path) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|b1", "fortran_order": False, "shape": (10**6, 10**6, 1)}
        )
        content = members(("labels.npy", self.LABELS), ("spikes.npy", header.getvalue() + b"\1"))
        assert len(content) < 10_000
        assert "header says" in refusal(content, tmp_path)

    def test_a_member_that_says_it_is_huge(self, tmp_path: Path) -> None:
        content = bytearray(members(("labels.npy", self.LABELS), ("spikes.npy", self.SPIKES)))
        at = content.index(b"PK\x01\x02")
        content[at + 24 : at + 28] = struct.pack("<I", 2**32 - 2)  # its unpacked size
        assert "unpacks to" in refusal(bytes(content), tmp_path)

    @pytest.mark.verify
    def test_truncated_anywhere(self, tmp_path: Path) -> None:
        whole = spikes()
        for tenth in range(1, 10):
            assert refusal(whole[: len(whole) * tenth // 10], tmp_path)


class TestHDF5:
    def made(self, folder: Path, change: Callable[[h5py.File], None]) -> Path:
        path = folder / "made.h5"
        hdf5(path)
        with h5py.File(path, "a") as file:
            change(file)
        return path

    @pytest.fixture
    def secret(self, tmp_path: Path) -> Path:
        path = tmp_path / "secret"
        path.write_bytes(SECRET * 10)
        return path

    def test_external_storage(self, tmp_path: Path, secret: Path) -> None:
        def change(file: h5py.File) -> None:
            del file["labels"]
            file.create_dataset("labels", (30,), "u1", external=[(str(secret), 0, 30)])

        assert "another file" in refusal(self.made(tmp_path, change), tmp_path)

    def test_a_virtual_dataset(self, tmp_path: Path, secret: Path) -> None:
        def change(file: h5py.File) -> None:
            del file["labels"]
            layout = h5py.VirtualLayout((30,), "u1")
            layout[:] = h5py.VirtualSource(str(secret), "labels", shape=(30,))
            file.create_virtual_dataset("labels", layout)

        assert "another file" in refusal(self.made(tmp_path, change), tmp_path)

    @pytest.mark.parametrize(
        "link",
        [
            h5py.ExternalLink("/etc/hosts", "labels"),
            h5py.SoftLink("/spikes/units"),
            h5py.SoftLink("/labels"),
        ],
    )
    def test_links(self, tmp_path: Path, link: Any) -> None:
        def change(file: h5py.File) -> None:
            del file["labels"]
            file["labels"] = link

        assert "link" in refusal(self.made(tmp_path, change), tmp_path)

    def test_groups_within_themselves(self, tmp_path: Path) -> None:
        def change(file: h5py.File) -> None:
            file["extra/again"] = file.create_group("extra/more")
            file["extra/more/up"] = file["extra"]

        assert "deeper" in refusal(self.made(tmp_path, change), tmp_path)

    def test_a_small_file_that_declares_a_terabyte(self, tmp_path: Path) -> None:
        path = tmp_path / "made.h5"
        with h5py.File(path, "w") as file:
            shape, chunks = (10**12,), (1000,)
            file.create_dataset("labels", shape, "u1", chunks=chunks)
            for name, kind in (("times", "f4"), ("units", "u2")):
                file.create_dataset(f"spikes/{name}", shape, h5py.vlen_dtype(kind), chunks=chunks)
        assert path.stat().st_size < 10_240
        assert "1,000,000,000,000 samples" in refusal(path, tmp_path)

    @pytest.mark.verify
    def test_truncated_anywhere(self, tmp_path: Path) -> None:
        whole = hdf5(tmp_path / "whole.h5")
        for tenth in range(1, 10):
            assert refusal(whole[: len(whole) * tenth // 10], tmp_path)


class TestArchives:
    @pytest.mark.parametrize(
        "name",
        ["../../escaped", "/escaped", "Train/../../escaped", "Train\\..\\x", "Tr\nain/x"],
    )
    def test_paths_that_lead_out(self, tmp_path: Path, name: str) -> None:
        assert refusal(members((name, b"x")), tmp_path)
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
        assert refusal(tar.getvalue(), tmp_path)
        assert not list(tmp_path.rglob("escaped"))

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
    def test_what_is_no_file(self, tmp_path: Path, kind: bytes) -> None:
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as archive:
            info = tarfile.TarInfo("Train")
            info.type, info.linkname = kind, "/etc"
            archive.addfile(info)
        assert "no regular file" in refusal(tar.getvalue(), tmp_path)

    def test_a_file_that_says_it_is_huge(self, tmp_path: Path) -> None:
        info = tarfile.TarInfo("Train/0/0.bin")
        info.size = 2**45
        content = info.tobuf(tarfile.GNU_FORMAT) + bytes(10_000)
        assert "unpacks to more than" in refusal(content, tmp_path)

    def test_an_encrypted_member(self, tmp_path: Path) -> None:
        content = bytearray(n_mnist())
        at = content.index(b"PK\x01\x02")
        content[at + 8] |= 1
        assert "encrypted" in refusal(bytes(content), tmp_path)

    @pytest.mark.verify
    def test_truncated_anywhere(self, tmp_path: Path) -> None:
        whole = n_mnist()
        for tenth in range(1, 10):
            assert refusal(whole[: len(whole) * tenth // 10], tmp_path)

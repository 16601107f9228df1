"""Source packages: equal folders give equal bytes, and an archive from anybody is checked."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from ipulse_core import source_package
from ipulse_core.source_package import (
    InvalidPackage,
    PackedFile,
    check_package,
    read_folder,
    unpack_package,
    write_package,
)


def packed(folder: Path) -> bytes:
    content = io.BytesIO()
    write_package(read_folder(folder).files, content)
    return content.getvalue()


def archive(path: Path, *members: tarfile.TarInfo, form: int = tarfile.USTAR_FORMAT) -> Path:
    with tarfile.open(path, "w", format=form) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 1
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = size if kind == tarfile.REGTYPE else 0
    return info


def folder_of(place: Path) -> Path:
    (place / "sub").mkdir(parents=True)
    (place / "main.cpp").write_text("int main() {}")
    (place / "sub" / "a.hpp").write_text("#pragma once")
    (place / ".git").mkdir()
    (place / ".git" / "config").write_text("not sent")
    return place


@pytest.mark.old_python
def test_equal_folders_give_equal_bytes(tmp_path: Path) -> None:
    first = packed(folder_of(tmp_path / "one"))
    other = folder_of(tmp_path / "two")
    os.utime(other / "main.cpp", (0, 0))
    (other / "main.cpp").chmod(0o600)
    assert packed(other) == first
    (other / "main.cpp").write_text("int main() { }")
    assert packed(other) != first


@pytest.mark.old_python
def test_what_was_packed_is_unpacked(tmp_path: Path) -> None:
    content = packed(folder_of(tmp_path / "one"))
    path = tmp_path / "package.tar"
    path.write_bytes(content)
    assert check_package(path) == ["main.cpp", "sub/a.hpp"]
    digest = hashlib.sha256(content).hexdigest()
    assert sorted(unpack_package(path, digest, tmp_path / "out")) == ["main.cpp", "sub/a.hpp"]
    assert (tmp_path / "out" / "sub" / "a.hpp").read_text() == "#pragma once"


def test_another_digest_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", member("main.cpp"))
    with pytest.raises(InvalidPackage, match="digest"):
        unpack_package(path, "0" * 64, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_links_within_the_folder_are_followed_and_others_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "one")
    (folder / "again.cpp").symlink_to("main.cpp")
    source = read_folder(folder)
    assert [file.name for file in source.files] == ["again.cpp", "main.cpp", "sub/a.hpp"]
    assert source.found.links == 1
    assert source.found.skipped == {"hidden": [".git"]}
    (folder / "secret").symlink_to("/etc/passwd")
    with pytest.raises(InvalidPackage, match="secret -> /etc/passwd"):
        read_folder(folder)
    assert len(read_folder(folder, follow_outside=True).files) == 4


@pytest.mark.parametrize(
    "bad",
    [
        member("link", tarfile.SYMTYPE, "/etc/passwd"),
        member("hard", tarfile.LNKTYPE, "main.cpp"),
        member("device", tarfile.CHRTYPE),
        member("pipe", tarfile.FIFOTYPE),
        member("folder", tarfile.DIRTYPE),
        member("/etc/cron.d/x"),
        member("../x"),
        member("a/../../x"),
        member(".hidden"),
        member("-rf"),
        member("a//b"),
        member("a/b/c/d/e/f/g/h/i"),
        member("main.cpp"),
        member("main.cpp/inside"),
        member("line\nbreak"),
    ],
    ids=lambda info: repr(info.name),
)
def test_members_that_are_no_plain_files_are_refused(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    path = archive(tmp_path / "a.tar", member("main.cpp"), bad)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InvalidPackage):
        check_package(path)
    with pytest.raises(InvalidPackage):
        unpack_package(path, digest, tmp_path / "out")
    assert not (tmp_path / "x").exists()


def test_archives_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    whole = archive(path, member("main.cpp", size=5000)).read_bytes()
    for content in (b"", b"x" * 2000, whole[:1500], whole[:100], b"\x1f\x8b" + whole):
        path.write_bytes(content)
        with pytest.raises(InvalidPackage):
            check_package(path)


def test_extended_headers_are_refused(tmp_path: Path) -> None:
    extended = member("main.cpp")
    extended.pax_headers = {"path": "../../x"}
    with pytest.raises(InvalidPackage):
        check_package(archive(tmp_path / "a.tar", extended, form=tarfile.PAX_FORMAT))


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_package, "MAX_FILES", 3)
    path = archive(tmp_path / "a.tar", *(member(f"f{n}") for n in range(4)))
    with pytest.raises(InvalidPackage, match="more than 3 files"):
        check_package(path)
    monkeypatch.setattr(source_package, "MAX_BYTES", 5000)
    with pytest.raises(InvalidPackage):
        write_package([PackedFile("a", b"x" * 6000)], io.BytesIO())
    with pytest.raises(InvalidPackage):
        check_package(archive(tmp_path / "b.tar", member("a", size=6000)))

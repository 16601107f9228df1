"""Forged lists of returned files write nothing elsewhere and exceed no limit."""

import io
import tarfile
from pathlib import Path
from typing import Any, List

import pytest

from ipulse_core.sandbox import returned_files
from ipulse_core.sandbox.returned_files import ReturnedFiles, read_files


def member(name: str, content: bytes = b"x", **fields: Any) -> bytes:
    """Return a file of an archive."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    padding = bytes(-len(content) % returned_files.BLOCK)
    return info.tobuf(tarfile.USTAR_FORMAT) + content + padding


def read(folder: Path, *members: bytes, max_bytes: int = 2**20) -> ReturnedFiles:
    return read_files(io.BytesIO(b"".join(members)), folder, max_bytes)


def written(folder: Path) -> List[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder for the files, next to one that nothing may change."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "file").write_text("as it was")
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize(
    "forged",
    [
        member("../victim/file"),
        member("a/../../victim/file"),
        member("/etc/ipulse-forged"),
        member("link", b"", type=tarfile.SYMTYPE, linkname="../victim") + member("link/file"),
        member("hard", b"", type=tarfile.LNKTYPE, linkname="../victim/file") + member("hard"),
        member("file", b"0 16\n", type=tarfile.XHDTYPE) + member(".hidden"),
        member("long", b"../victim/file\0", type=tarfile.GNUTYPE_LONGNAME) + member("a\nb"),
    ],
)
def test_nothing_is_written_elsewhere(out: Path, forged: bytes) -> None:
    returned = read(out, forged, member("good", b"good"))
    assert (out.parent / "victim" / "file").read_text() == "as it was"
    assert not any(path.is_symlink() for path in out.rglob("*"))
    assert not Path("/etc/ipulse-forged").exists()
    assert (out / "good").read_bytes() == b"good"
    assert sorted(returned.names) == written(out)


def test_a_name_that_is_taken_is_skipped(out: Path) -> None:
    """The program may write such a list, but tar does not."""
    given = [member("a", b"first"), member("a"), member("a/b"), member("c/d"), member("./c")]
    returned = read(out, *given, member("last"))
    assert returned.names == ["a", "c/d", "last"]
    assert (out / "a").read_bytes() == b"first"
    assert len(returned.skipped) == 3


def test_an_endless_list_ends(out: Path) -> None:
    class Endless(io.RawIOBase):
        blocks = 0

        def read(self, size: int = -1) -> bytes:
            self.blocks += 1
            assert self.blocks <= returned_files.MAX_MEMBERS
            return block

    block = member(".hidden", b"")

    returned = read_files(Endless(), out, 2**20)  # type: ignore[arg-type]  # it is one to read
    assert returned.names == []
    assert len(returned.skipped) == returned_files.MAX_SKIPPED + 1
    assert returned.left_out == returned_files.MAX_MEMBERS + 1


def test_what_is_not_written_is_counted(out: Path) -> None:
    kinds = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
    others = [member("special", b"", type=kind) for kind in kinds]
    others += [member(".hidden"), member("a/.b/c"), member("line\nend"), member("\u202eabc")]
    others += [member("/".join("deep")), member("/".join("toodeepforus"))]
    returned = read(out, member("folder", b"", type=tarfile.DIRTYPE), *others)
    assert returned.names == written(out) == ["d/e/e/p"]
    assert returned.left_out == len(returned.skipped) == len(others) - 1


def test_names_beyond_ascii_and_long_ones_are_kept(out: Path) -> None:
    long = "ä/" + "long-" * 40 + ".csv"
    named = member("././@LongLink", f"./{long}\0".encode(), type=tarfile.GNUTYPE_LONGNAME)
    returned = read(out, member("./Größe (1).csv"), named + member(long[:50]), member("next"))
    assert returned.names == ["Größe (1).csv", long, "next"]
    assert sorted(returned.names) == written(out)
    assert not returned.left_out


def test_a_file_above_the_limit_leaves_the_others(out: Path) -> None:
    returned = read(out, member("large", bytes(2000)), member("small"), max_bytes=1000)
    assert returned.names == written(out) == ["small"]
    assert returned.left_out == 1


def test_the_limits_hold(out: Path) -> None:
    returned = read(out, member("a", bytes(600)), member("b", bytes(600)), max_bytes=1000)
    assert returned.names == written(out) == ["a"]
    assert len(returned.skipped) == 1


def test_a_file_that_was_cut_is_not_left(out: Path) -> None:
    returned = read(out, member("a", bytes(100)), member("b", bytes(2000))[:1000])
    assert returned.names == written(out) == ["a"]


def test_a_damaged_header_ends_the_list(out: Path) -> None:
    damaged = bytearray(member("b"))
    damaged[0] ^= 1
    returned = read(out, member("a"), bytes(damaged), member("c"))
    assert returned.names == written(out) == ["a"]
    assert len(returned.skipped) == 1

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_worker.runner.data import DataUnavailable

HINT = "put it there"


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    root = tmp_path / "data"
    (root / "set").mkdir(parents=True)
    (root / "set" / "file.h5").write_bytes(b"x")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file.h5").write_bytes(b"x")
    return DataDirectory(root)


def test_finds_what_is_there(directory: DataDirectory) -> None:
    assert directory.file("set", "file.h5", hint=HINT).read_bytes() == b"x"
    assert directory.folder("set", hint=HINT).is_dir()


def test_a_missing_file_is_named_with_its_folder_and_source(directory: DataDirectory) -> None:
    with pytest.raises(DataUnavailable) as caught:
        directory.file("set", "other.h5", hint=HINT)
    assert f"{directory.path}/set/other.h5" in caught.value.message
    assert HINT in caught.value.message


def test_a_missing_directory_has_a_hint() -> None:
    with pytest.raises(DataUnavailable) as caught:
        DataDirectory.from_environment({}).file("set", "file.h5", hint=HINT)
    for words in ("IPULSE_DATA", "--data DIR", "`ipulse up`", "set/file.h5", HINT):
        assert words in caught.value.message


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc", "\0", "-x", "ä", "a\n"])
def test_a_name_that_is_not_plain_is_refused(directory: DataDirectory, name: str) -> None:
    """Even where another layer has let it through."""
    with pytest.raises(DataUnavailable, match="plain name"):
        directory.file("set", name, hint=HINT)


def test_a_link_out_of_the_directory_is_refused(directory: DataDirectory, tmp_path: Path) -> None:
    assert directory.path is not None
    (directory.path / "out").symlink_to(tmp_path / "secret")
    (directory.path / "set" / "out.h5").symlink_to(tmp_path / "secret" / "file.h5")
    for names in (("out",), ("out", "file.h5"), ("set", "out.h5")):
        with pytest.raises(DataUnavailable, match="to a place outside the worker's data directory"):
            directory.file(*names, hint=HINT)


def test_a_directory_with_a_longer_name_is_outside(
    directory: DataDirectory, tmp_path: Path
) -> None:
    assert directory.path is not None
    (tmp_path / "data2").mkdir()
    (tmp_path / "data2" / "file.h5").write_bytes(b"x")
    (directory.path / "file.h5").symlink_to(tmp_path / "data2" / "file.h5")
    with pytest.raises(DataUnavailable, match="a place outside"):
        directory.file("file.h5", hint=HINT)


def test_a_link_within_the_directory_is_followed(directory: DataDirectory) -> None:
    assert directory.path is not None
    (directory.path / "again").symlink_to(directory.path / "set")
    assert directory.file("again", "file.h5", hint=HINT).read_bytes() == b"x"


def test_what_is_no_file_is_not_opened(directory: DataDirectory) -> None:
    with pytest.raises(DataUnavailable, match="there is no file"):
        directory.file("set", hint=HINT)
    with pytest.raises(DataUnavailable, match="there is no folder"):
        directory.folder("set", "file.h5", hint=HINT)


def test_lists_a_folder_by_name_and_follows_links_only_within(
    directory: DataDirectory, tmp_path: Path
) -> None:
    assert directory.path is not None
    folder = directory.path / "set"
    (folder / "b.bin").write_bytes(b"b")
    (folder / "a.bin").symlink_to(folder / "b.bin")
    assert directory.files("set", suffix=".bin", hint=HINT) == [folder / "a.bin", folder / "b.bin"]
    (folder / "c.bin").symlink_to(tmp_path / "secret" / "file.h5")
    with pytest.raises(DataUnavailable, match="to a place outside the worker's data directory"):
        directory.files("set", suffix=".bin", hint=HINT)
    (folder / "c.bin").unlink()
    (folder / "c.bin").mkdir()
    with pytest.raises(DataUnavailable, match="there is no file"):
        directory.files("set", suffix=".bin", hint=HINT)
    (folder / "-x.bin").write_bytes(b"")
    with pytest.raises(DataUnavailable, match="not the plain name"):
        directory.files("set", suffix=".bin", hint=HINT)

"""Nothing of a folder is left out without a word: links, what is not there, what is no file."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

from ipulse_core.errors import InvalidInput
from ipulse_core.input_files import check_file, list_folder

SHA = "0123456789abcdef" * 4
KEY = f"SHA256E-s5--{SHA}.bin"


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that other users reach."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


def names(folder: Path, follow_outside: bool = False) -> List[str]:
    return [file.name for file in list_folder(folder, follow_outside).files]


def refusal(folder: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        list_folder(folder)
    return str(caught.value)


def write(folder: Path, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("content")
    return folder


def annexed(link: Path, repository: Path, key: str = KEY) -> Path:
    """Make a link as git-annex does, and return the place of its content."""
    link.parent.mkdir(parents=True, exist_ok=True)
    content = repository / ".git" / "annex" / "objects" / "1F" / "kz" / key / key
    link.symlink_to(os.path.relpath(content, link.parent))
    return content


def hub_cache(place: Path, files: Dict[str, str]) -> Path:
    """Write the cache of a data set of the Hugging Face Hub, and return its snapshot."""
    snapshot = place / "datasets--lab--spikes" / "snapshots" / ("a" * 40)
    for name, content in files.items():
        blob = write(place / "datasets--lab--spikes" / "blobs", content) / content
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).symlink_to(os.path.relpath(blob, (snapshot / name).parent))
    return snapshot


@pytest.mark.old_python
def test_links_in_a_mixed_folder_are_followed_and_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", "Train/0/a.bin", "store/b.bin", "store/c.bin")
    (folder / "Train/0/b.bin").symlink_to("../../store/b.bin")
    (folder / "Train/1").symlink_to(folder / "store")  # an absolute one
    found = list_folder(folder)
    assert [file.name for file in found.files] == [
        "Train/0/a.bin",
        "Train/0/b.bin",
        "Train/1/b.bin",
        "Train/1/c.bin",
        "store/b.bin",
        "store/c.bin",
    ]
    assert found.links == 2
    assert not found.skipped


def test_a_cache_of_the_hub_is_followed(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, {"shd_train.h5": "one", "more/shd_test.h5": "two"})
    assert names(snapshot) == ["more/shd_test.h5", "shd_train.h5"]
    assert list_folder(snapshot).links == 2
    home = tmp_path / "home"
    home.symlink_to(tmp_path)
    assert len(names(home / snapshot.relative_to(tmp_path))) == 2


def test_a_link_from_a_cache_to_another_place_is_refused(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path, {"a": "one"})
    write(tmp_path / "other" / "blobs", "secret")
    (snapshot / "b").symlink_to(tmp_path / "other" / "blobs" / "secret")
    assert "b -> " in refusal(snapshot)


def test_content_of_an_annex_is_followed_from_any_folder(tmp_path: Path) -> None:
    for link in ("sub/Train/a.bin", "sub/Test/a.bin"):
        content = annexed(tmp_path / link, tmp_path)
    write(content.parent, content.name)
    assert names(tmp_path / "sub") == ["Test/a.bin", "Train/a.bin"]
    found = list_folder(tmp_path)
    assert [file.name for file in found.files] == ["sub/Test/a.bin", "sub/Train/a.bin"]
    assert found.skipped == {"hidden": [".git"]}


def test_a_subdataset_of_an_annex_is_followed(tmp_path: Path) -> None:
    """Its `.git` is a link into that of the dataset above it."""
    (tmp_path / ".git" / "modules" / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".git").symlink_to("../.git/modules/sub")
    content = annexed(tmp_path / "sub" / "data" / "a.bin", tmp_path / "sub")
    write(content.parent, content.name)
    assert names(tmp_path / "sub" / "data") == ["a.bin"]


def test_content_that_is_not_there_is_named_with_the_command(tmp_path: Path) -> None:
    annexed(tmp_path / "data" / "away.bin", tmp_path)
    write(tmp_path / "data", "here.bin")
    message = refusal(tmp_path / "data")
    assert "away.bin" in message
    assert "here.bin" not in message
    for command in ("git annex get", "datalad get"):
        assert command in message
    with pytest.raises(InvalidInput, match="git annex get"):
        check_file(tmp_path / "data" / "away.bin")


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (f"/annex/objects/{KEY}\n", "git annex get"),
        (f"version https://git-lfs.github.com/spec/v1\noid sha256:{SHA}\nsize 5\n", "git lfs pull"),
    ],
)
def test_a_pointer_is_not_sent_as_content(tmp_path: Path, content: str, command: str) -> None:
    folder = write(tmp_path, "a.bin", "pointer.h5")
    (folder / "pointer.h5").write_text(content)
    assert command in refusal(folder)
    with pytest.raises(InvalidInput, match=command):
        check_file(folder / "pointer.h5")


def test_links_that_leave_the_folder_need_the_option(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", "b.bin", "c.bin")
    folder = write(tmp_path / "data", "a.bin")
    (folder / "b.bin").symlink_to("../elsewhere/b.bin")
    (folder / "more").symlink_to("../elsewhere")
    message = refusal(folder)
    assert "--follow-outside" in message
    assert "b.bin -> " in message
    assert "more -> " in message
    assert names(folder, follow_outside=True) == ["a.bin", "b.bin", "more/b.bin", "more/c.bin"]
    # A store that looks like an annex, but is not of a repository above the link.
    write(tmp_path / "elsewhere/.git/annex/objects/x", "x")
    (folder / "x").symlink_to(tmp_path / "elsewhere/.git/annex/objects/x/x")
    assert "x -> " in refusal(folder)


def test_an_annex_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    content = annexed(tmp_path / "data" / "a.bin", tmp_path)
    content.parent.mkdir(parents=True)
    content.symlink_to("/etc/passwd")
    assert "/etc/passwd" in refusal(tmp_path / "data")


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", "a.bin")
    (folder / "b.bin").symlink_to("../moved/b.bin")
    assert "to nothing" in refusal(folder)
    with pytest.raises(InvalidInput, match=r"moved/b\.bin"):
        check_file(folder / "b.bin")


def test_what_is_no_file_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "data", "sub/a.bin", ".cache/x", ".DS_Store")
    (folder / "sub" / "up").symlink_to("..")
    (folder / "self").symlink_to("self")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as made, monkeypatch.context() as here:
        here.chdir(folder)  # the path of a socket is short
        made.bind("socket")
    (folder / "zero").symlink_to("/dev/zero")
    found = list_folder(folder, follow_outside=True)
    assert [file.name for file in found.files] == ["sub/a.bin"]
    assert {why: len(names) for why, names in found.skipped.items()} == {
        "hidden": 2,
        "link in a loop": 2,
        "no regular file": 3,
    }
    for name in (".DS_Store", "sub/up", "socket"):
        assert name in found.skipped_text()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_file_that_cannot_be_read_is_refused(open_place: Path) -> None:
    folder = write(open_place / "data", "a.bin", "closed/b.bin")
    (folder / "a.bin").chmod(0)
    (folder / "closed").chmod(0)
    code = (
        "import sys; from pathlib import Path; from ipulse_core.input_files import *\n"
        "list_folder(Path(sys.argv[1]))"
    )
    become: List[str] = []
    if os.geteuid() == 0:  # root reads everything
        become = ["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all"]
    python = shutil.which("python3", path="/usr/bin") or "python3"
    root = Path(__file__).resolve().parents[2] / "core"
    done = subprocess.run(
        [*become, "env", f"PYTHONPATH={root}", python, "-B", "-c", code, str(folder)],
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    assert "2 (a.bin, closed/)" in done.stderr

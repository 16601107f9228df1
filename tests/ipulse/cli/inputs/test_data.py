"""data push, list, show and delete."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ipulse.client import Connection
from tests.core.data_files.csv_files import LABELS_FROM_ONE
from tests.ipulse.cli.conftest import Run
from tests.service.datasets.files import n_mnist, npz, spikes


class Cut(Exception):
    """The connection broke."""


def test_a_file_becomes_a_version(client: Connection, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    path.write_bytes(spikes(samples=20, steps=10, channels=6))
    done = run("data", "push", str(path))
    assert done.code == 0, done.err
    assert done.out.startswith("mine@1 ")
    again = run("data", "push", str(path), "--json")
    assert again.json["version"] == 1
    assert "mine@1" in run("data", "list").out
    shown = run("data", "show", "mine", "--sample", "1")
    assert ["channels", "6"] in [line.split() for line in shown.out.splitlines()]
    picture = [line[1:-1] for line in shown.out.splitlines() if line.startswith("|")]
    assert len(picture) == 6
    # Sample 1 is of the class that spikes in the upper half of the channels.
    assert all(line.strip() for line in picture[:3])
    assert not any(line.strip() for line in picture[3:])
    assert run("data", "show", "mine", "--sample", "19").code == 2
    assert run("data", "delete", "mine@1").code == 2  # nobody can be asked
    assert run("data", "delete", "mine", "--yes").code == 0
    assert run("data", "show", "mine").code == 3


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my data (v2).npz", "my-data-v2-"),
        ("größe.npz", "gr-e"),
        ("(1).npz", "1-"),
        ("ß.npz", "data"),
    ],
)
@pytest.mark.sample(1)
def test_any_file_name_gives_a_name(run: Run, tmp_path: Path, file: str, name: str) -> None:
    path, spec = tmp_path / file, tmp_path / "spec.yaml"
    path.write_bytes(spikes(samples=20, steps=10, channels=6))
    assert run("init", str(spec), "--data", str(path)).code == 0
    done = run("data", "push", str(path))
    assert done.code == 0, done.err
    assert done.out.startswith(f"{name}@1 ")
    done = run("submit", str(spec))
    assert done.code == 0, done.err


def test_a_refused_file_is_explained(client: Connection, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "negative.npz"
    path.write_bytes(npz(spikes=[[[0, -1]]] * 3, labels=[0, 1, 0]))
    done = run("data", "push", str(path))
    assert done.code == 2
    assert "sample 0, step 0 and channel 1 are -1" in done.err
    assert str(path) not in done.err
    for wrong in (tmp_path / "none.npz", tmp_path / "empty"):
        assert run("data", "push", str(wrong)).code == 2
    assert run("data", "push", str(path), "--name", "../x").code == 2


def test_a_folder_is_packed_the_same_each_time(
    client: Connection, run: Run, tmp_path: Path
) -> None:
    with zipfile.ZipFile(io.BytesIO(n_mnist())) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "N-MNIST"
    first = run("data", "push", str(folder), "--json")
    assert (first.json["kind"], first.json["reference"]) == ("n_mnist", "N-MNIST@1")
    (folder / "Train" / "0" / "00000.bin").touch()
    assert run("data", "push", str(folder), "--json").json["version"] == 1


def test_links_of_a_folder_are_followed_and_what_is_left_out_is_counted(
    client: Connection, run: Run, tmp_path: Path
) -> None:
    with zipfile.ZipFile(io.BytesIO(n_mnist())) as archive:
        archive.extractall(tmp_path / "store")
    whole = run("data", "push", str(tmp_path / "store" / "N-MNIST"), "--name", "whole", "--json")
    folder = tmp_path / "links"
    files = sorted((tmp_path / "store").rglob("*.bin"))
    for file in files:
        link = folder / file.relative_to(tmp_path / "store" / "N-MNIST")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)
    (folder / ".hidden").write_text("")
    refused = run("data", "push", str(folder))
    assert refused.code == 2
    assert "--follow-outside" in refused.err
    assert str(files[0]) in refused.err
    done = run("data", "push", str(folder), "--follow-outside", "--json")
    assert done.json["facts"] == whole.json["facts"]
    assert f"{len(files):,} symbolic links" in done.err
    assert "1 hidden (.hidden)" in done.err


def test_a_warning_is_shown_and_kept(client: Connection, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "from-one.csv"
    path.write_bytes(LABELS_FROM_ONE)
    done = run("data", "push", str(path))
    assert done.code == 0
    assert "label 0 and channel 0 have no event" in done.err
    assert "label 0 and channel 0 have no event" in run("data", "show", "from-one").out
    assert "label 0" in run("init", str(tmp_path / "one"), "--data", str(path)).err


def test_a_link_without_content_is_explained(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.npz").symlink_to(".git/annex/objects/a/b/KEY/KEY")
    done = run("data", "push", str(tmp_path / "mine.npz"))
    assert done.code == 2
    assert "datalad get" in done.err


def test_a_cut_upload_is_resumed_and_known_bytes_stay(client: Connection, tmp_path: Path) -> None:
    path = tmp_path / "large.npz"
    random = np.random.RandomState(5)
    values = random.rand(40, 16, 1024).astype(np.float32)  # does not become smaller
    path.write_bytes(npz(values=values, labels=np.arange(40) % 2))
    size = path.stat().st_size
    assert size > 2_000_000

    def cut(sent: int, _size: int) -> None:
        if sent > size // 2:
            raise Cut

    with pytest.raises(Cut):
        client.push_dataset(path, "large", cut)
    sent: list[int] = []
    version = client.push_dataset(path, "large", lambda done, _: sent.append(done))
    assert (version.state, sent[-1]) == ("ready", size)
    moved: list[int] = []
    assert client.push_dataset(path, "copy", lambda done, _: moved.append(done)).state == "ready"
    assert moved == [size]  # nothing was sent


def test_a_refusal_names_the_path_and_no_place_in_a_document(run: Run, tmp_path: Path) -> None:
    ran = run("data", "push", str(tmp_path / "nothing.npz"))
    assert ran.code == 2
    assert str(tmp_path / "nothing.npz") in ran.err
    assert "/PATH" not in ran.err
    said = run("data", "push", str(tmp_path / "nothing.npz"), "--json").json["error"]
    assert said["problems"][0]["pointer"] == "/PATH"

"""Archives of jobs, and their verification."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ipulse.archives.verification import verify_archive
from ipulse.client import Connection, JobHandle
from ipulse_core.errors import InvalidInput
from tests.ipulse.client.scripted_jobs import experiment, files

from .conftest import HOSTILE, Export


@pytest.fixture
def archive(export: Export, job: JobHandle, tmp_path: Path) -> Path:
    assert export("archive", job.id, "--to", str(tmp_path / "archive")) == 0
    return tmp_path / "archive" / f"{job.id}.zip"


def test_it_has_everything_of_the_job(
    archive: Path, job: JobHandle, export: Export, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
        assert {f"files/{name}" for name in files()} < names
        assert json.loads(opened.read("spec.json")) == job.spec
        events = opened.read("events.jsonl").splitlines()
        assert len(events) == job.json["last_seq"]
        crate = json.loads(opened.read("ro-crate-metadata.json"))["@graph"]
    parts = {part["@id"] for part in crate if part["@type"] == "File"}
    assert parts == names - {"checksums.sha256", "ro-crate-metadata.json"}
    verified = verify_archive(archive)
    manifest = hashlib.sha256(files()["manifest.json"]).hexdigest()
    assert (verified.job_id, verified.name) == (job.id, HOSTILE)
    assert (verified.manifest_sha256, verified.files) == (manifest, len(job.files))
    capsys.readouterr()
    assert export(str(archive), command=["verify"]) == 0
    assert manifest in capsys.readouterr().out


def test_equal_jobs_give_equal_bytes(
    archive: Path, export: Export, job: JobHandle, tmp_path: Path
) -> None:
    assert export("archive", job.id, job.id, "--to", str(tmp_path / "again")) == 0
    [again] = (tmp_path / "again").iterdir()
    assert again.read_bytes() == archive.read_bytes()


def test_who_may_only_read_a_job_gets_the_same_bytes(
    archive: Path,
    export: Export,
    job: JobHandle,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "reader").write_text(connection.create_token("reader", "reader", 600).secret)
    (tmp_path / "reader").chmod(0o600)
    monkeypatch.setenv("IPULSE_TOKEN_FILE", str(tmp_path / "reader"))
    assert export("archive", job.id, "--to", str(tmp_path / "again")) == 0
    [again] = (tmp_path / "again").iterdir()
    assert again.read_bytes() == archive.read_bytes()


def test_a_job_that_runs_has_no_archive(
    connection: Connection, export: Export, tmp_path: Path
) -> None:
    job = connection.submit(experiment())
    assert export("archive", job.id, "--to", str(tmp_path / "archive")) != 0
    assert not list((tmp_path / "archive").glob("*"))


Change = Callable[[dict[str, bytes]], None]


def _set(name: str, content: bytes) -> Change:
    return lambda members: members.update({name: content})


def _change_everywhere(members: dict[str, bytes]) -> None:
    """Changes a file and its checksum, but not the manifest."""
    former = hashlib.sha256(members["files/report.html"]).hexdigest()
    members["files/report.html"] = b"forged"
    now = hashlib.sha256(b"forged").hexdigest()
    sums = members["checksums.sha256"].replace(former.encode(), now.encode())
    members["checksums.sha256"] = sums


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_set("files/report.html", b"forged"), "report.html"),
        (_set("files/../../x", b""), "does not belong"),
        (_set("/etc/passwd", b""), "does not belong"),
        (_set("files/new.txt", b""), "no checksum"),
        (_set("spec.json", b"{}"), "spec.json"),
        (_set("checksums.sha256", b"\xff"), "no checksum"),
        (lambda members: members.pop("files/weights.npz"), "is missing"),
        (lambda members: members.pop("job.json"), "is missing"),
        (_change_everywhere, "report.html"),
    ],
)
def test_n30_a_changed_archive_is_refused(
    archive: Path, tmp_path: Path, change: Change, named: str
) -> None:
    with zipfile.ZipFile(archive) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    change(members)
    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(changed, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    with pytest.raises(InvalidInput, match=named):
        verify_archive(changed)


def test_damaged_and_other_files_are_refused(archive: Path, tmp_path: Path, export: Export) -> None:
    content = archive.read_bytes()
    wrong = tmp_path / "wrong.zip"
    for damaged in (b"", b"text", content[: len(content) // 2], content[:-30]):
        wrong.write_bytes(damaged)
        assert export(str(wrong), command=["verify"]) == 2
    assert export(str(tmp_path / "absent.zip"), command=["verify"]) == 2
    assert export(str(tmp_path), command=["verify"]) == 2
    with zipfile.ZipFile(wrong, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("job.json", b"0" * 10**6)
    assert export(str(wrong), command=["verify"]) == 2
    shutil.copy(archive, wrong)
    assert export(str(wrong), command=["verify"]) == 0

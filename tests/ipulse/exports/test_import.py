"""Import of archives into a service, over HTTP, the client and the command line."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ipulse.archives.verification import verify_archive
from ipulse.client import Connection, JobHandle
from ipulse_core.errors import Conflict, InvalidInput, NotFound
from tests.ipulse.client.scripted_jobs import files

from .conftest import HOSTILE, Export

Members = dict[str, bytes]


@pytest.fixture
def archive(export: Export, job: JobHandle, tmp_path: Path) -> Path:
    assert export("archive", job.id, "--to", str(tmp_path / "archive")) == 0
    return tmp_path / "archive" / f"{job.id}.zip"


@pytest.fixture
def client(connection: Connection) -> Connection:
    return connection


def test_n29_an_archived_job_survives_deletion_to_the_byte(
    archive: Path, job: JobHandle, client: Connection, export: Export, tmp_path: Path
) -> None:
    before = client.job(job.id).json
    curves = client.curves([job.id])
    client.job(job.id).delete()
    assert export(str(archive), command=["import"]) == 0
    after = client.job(job.id).json
    mark = after.pop("imported")
    assert mark["archive_sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert before.pop("imported") is None
    assert after == before
    assert after["name"] == HOSTILE
    assert client.curves([job.id]) == curves
    assert [found.id for found in client.jobs(query="imported>2020-01-01")] == [job.id]
    assert job.id in [found.id for found in client.jobs(query="test_accuracy>0.89 epochs:3")]
    downloaded = client.job(job.id).download(tmp_path / "results")
    assert {path.name: path.read_bytes() for path in downloaded} == {
        **files(),
        "checkpoint.npz": b"state",
    }
    # It is the same as the one that ran here, also for another service.
    assert export("archive", job.id, "--to", str(tmp_path / "again")) == 0
    again = tmp_path / "again" / archive.name
    assert again.read_bytes() == archive.read_bytes()
    assert verify_archive(again) == verify_archive(archive)
    # It can be continued, and deleted with its files.
    assert client.job(job.id).continue_training(2).json["start_from"]["job"] == job.id
    assert client.import_archive(archive).id == job.id  # again: the same job
    client.job(job.id).delete()
    with pytest.raises(NotFound):
        client.job(job.id).artifacts()


def test_a_failed_job_is_imported(
    ended: Any, export: Export, client: Connection, tmp_path: Path
) -> None:
    job = ended(fails=True)
    assert export("archive", job.id, "--to", str(tmp_path)) == 0
    client.job(job.id).delete()
    imported = client.import_archive(tmp_path / f"{job.id}.zip")
    assert (imported.state, imported.reason) == (job.state, "out_of_memory")
    messages = [event.fields["message"] for event in client.job(job.id).events(kinds=["log"])]
    assert "nothing is left" in messages


def test_an_imported_job_is_found_by_its_ops(
    archive: Path, job: JobHandle, client: Connection
) -> None:
    digest = "0f" * 32
    names = [f"pool_op@sha256:{digest}", f"scale_op@sha256:{'1e' * 32}"]
    members = members_of(archive)
    own = (*names, f"twin@sha256:{digest}")
    layers = [{"kind": "op", "op": name, "neurons": 6} for name in own]
    of_spec(lambda spec: spec["network"]["layers"].extend(layers))(members)
    client.job(job.id).delete()
    imported = client.import_archive(write(archive, members))
    for query in ("op:scale_op", f'op:"{names[1]}"', f"op:*@sha256:{digest}"):
        assert [found.id for found in client.jobs(query=query)] == [imported.id], query
    assert list(client.jobs(query="op:pool")) == []
    client.job(imported.id).delete()


def test_a_job_that_is_there_is_not_replaced(
    archive: Path, job: JobHandle, client: Connection
) -> None:
    with pytest.raises(Conflict, match="delete it first") as error:
        client.import_archive(archive)
    assert job.refresh().json["imported"] is None, error


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write(path: Path, members: Members, sums: bool = True) -> Path:
    """Writes an archive with right checksums, whatever it contains."""
    if sums:
        lines = [
            f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n"
            for name in sorted(members)
            if name != "checksums.sha256"
        ]
        members = {**members, "checksums.sha256": "".join(lines).encode()}
    with zipfile.ZipFile(path, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def of_job(**changes: Any) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        job = {**json.loads(members["job.json"]), **changes}
        members["job.json"] = json.dumps(job).encode()

    return change


def of_events(edit: Callable[[list[Any]], Any]) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        events = [json.loads(line) for line in members["events.jsonl"].splitlines()]
        edit(events)
        members["events.jsonl"] = b"".join(json.dumps(each).encode() + b"\n" for each in events)

    return change


def of_metadata(**changes: Any) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        crate = json.loads(members["ro-crate-metadata.json"])
        part = next(each for each in crate["@graph"] if each["@id"] == "files/weights.npz")
        part.update(changes)
        members["ro-crate-metadata.json"] = json.dumps(crate).encode()

    return change


def of_spec(edit: Callable[[dict[str, Any]], Any]) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        job = json.loads(members["job.json"])
        edit(job["spec"])
        text = json.dumps(job["spec"], sort_keys=True, separators=(",", ":")).encode()
        job["spec_sha256"] = hashlib.sha256(text).hexdigest()
        members["job.json"], members["spec.json"] = json.dumps(job).encode(), text

    return change


HOSTILE_ARCHIVES: list[tuple[str, Callable[[Members], Any], str]] = [
    ("id", of_job(id="job_../../etc"), "/id"),
    ("state", of_job(state="running"), "/state"),
    ("reason", of_job(reason="diverged"), "/state"),
    ("time", of_job(created_at="2026-13-41T00:00:00.000Z"), "/created_at"),
    ("attempt", of_job(attempt=3), "/attempts"),
    ("huge", of_job(version=2**80), "/version"),
    ("name", of_job(name="a\x1b[2Jb"), "/name"),
    ("tags", of_job(tags=["x"] * 17), "/tags"),
    ("progress", of_job(progress={"epoch": "<b>"}), "/progress"),
    ("digest", of_job(spec_sha256="0" * 64), "spec_sha256"),
    ("list", lambda members: members.update({"job.json": b"[]"}), "object"),
    ("deep", lambda members: members.update({"job.json": b"[" * 10**5}), "nested"),
    ("spec", of_spec(lambda spec: spec["training"].update(epochs=-1)), "/training/epochs"),
    ("gap", of_events(lambda events: events.pop(3)), "events.jsonl/3/seq"),
    ("short", of_events(lambda events: events.pop()), "events.jsonl"),
    ("kind", of_events(lambda events: events[2].update(kind="artifact")), "events.jsonl/2"),
    ("attempt of event", of_events(lambda events: events[5].update(attempt=9)), "attempt"),
    ("event", of_events(lambda events: events[0].update(time="now")), "events.jsonl/0/time"),
    ("role", of_metadata(description="payload"), "role"),
    ("size", of_metadata(contentSize="1"), "@graph"),
    ("sha256", of_metadata(sha256="0" * 64), "@graph"),
    ("file twice", of_metadata(**{"@id": "files/report.html"}), "@graph"),
    ("manifest", lambda members: members.pop("files/manifest.json"), "manifest.json"),
]


def test_a_hostile_archive_is_refused(archive: Path, client: Connection, tmp_path: Path) -> None:
    members = members_of(archive)
    job_id = json.loads(members["job.json"])["id"]
    client.job(job_id).delete()
    for name, change, place in HOSTILE_ARCHIVES:
        changed = dict(members)
        change(changed)
        path = write(tmp_path / "hostile.zip", changed)
        with pytest.raises(InvalidInput) as here:
            verify_archive(path)
        with pytest.raises(InvalidInput) as there:
            client.import_archive(path)
        assert place in str(here.value), name
        assert str(there.value).partition("\n")[2] == str(here.value).partition("\n")[2], name
        assert not [job for job in client.jobs() if job.id == job_id]
    # None of them left anything behind that would stop the true one.
    assert client.import_archive(archive).id == job_id


def test_a_zip_that_claims_much_is_refused_at_once(
    archive: Path, client: Connection, tmp_path: Path
) -> None:
    members = members_of(archive)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
        made.writestr("files/zeros.bin", bytes(2**26))
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as made:
        for number in range(30_000):
            made.writestr(f"files/{number}", b"")
    # All entries of the directory lead to the same megabyte.
    overlapping = tmp_path / "overlapping.zip"
    with zipfile.ZipFile(overlapping, "w") as made:
        made.writestr("files/0000", bytes(2**20))
    content = overlapping.read_bytes()
    begin = content.index(b"PK\x01\x02")
    entry = content[begin : begin + 46 + len("files/0000")]
    entries = b"".join(entry.replace(b"0000", f"{number:04}".encode()) for number in range(900))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 900, 900, len(entries), begin, 0)
    overlapping.write_bytes(content[:begin] + entries + end)
    link = tmp_path / "link.zip"
    write(link, {**members, "files/link": b"/etc/passwd"})
    for path, said in (
        (bomb, "compressed"),
        (many, "directory is too large"),
        (overlapping, "larger than the archive"),
        (link, "files/link"),
    ):
        with pytest.raises(InvalidInput, match=said):
            client.import_archive(path)


def test_what_is_no_archive_is_refused(client: Connection, tmp_path: Path, export: Export) -> None:
    path = tmp_path / "wrong.zip"
    for content in (b"text", b"PK\x05\x06" + bytes(18), b"PK\x05\x06" + b"\xff" * 18):
        path.write_bytes(content)
        with pytest.raises(InvalidInput):
            client.import_archive(path)
        assert export(str(path), command=["import"]) == 2
    assert export(str(tmp_path / "absent.zip"), command=["import"]) == 2

"""A backup is whole or is refused; a restore that fails or is killed loses nothing."""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from sqlalchemy import MetaData, text

from ipulse.stack.redis_server import RedisServer
from ipulse_core.errors import Conflict, InvalidInput, IPUlseError, NotFound, Unavailable
from ipulse_service.backup.__main__ import main
from ipulse_service.backup.archive_file import ArchiveReader, Manifest
from ipulse_service.backup.making import make
from ipulse_service.backup.moving import move
from ipulse_service.backup.restoring import restore
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database, Transaction
from ipulse_service.files.blobs import Blobs
from ipulse_service.files.stored import used_digests
from ipulse_service.settings import Settings
from tests.service.backup.conftest import Stored
from tests.service.conditions import eventually
from tests.service.postgresql_server import PostgreSQLServer
from tests.service.running import InProcess, settings_for
from tests.service.sweeps.sweeping import sweep_of
from tests.service.upgrade.stored_homes import ARCHIVES, take
from tests.service.upgrade.test_homes import check_jobs
from tests.worker.disks import small_disk

KEYS = ("token", "agent-key")


@pytest.fixture
def archive(stored: Stored, tmp_path: Path) -> Path:
    make(stored.settings, tmp_path / "backup.tar")
    return tmp_path / "backup.tar"


def check(archive: Path) -> Manifest:
    reader = ArchiveReader(archive)
    reader.close()
    return reader.manifest


def everything(settings: Settings) -> dict[str, Any]:
    """All rows, stored files and keys of a home, to compare."""
    rows: dict[str, Any] = {}
    path = settings.home / "ipulse.db"
    if path.exists():
        with closing(sqlite3.connect(path)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (name,) in names.fetchall():
                if name not in ("trials", "web_sessions", "clock_eras"):
                    query = f"SELECT * FROM {name}"  # noqa: S608 - a table of the schema
                    rows[name] = sorted(database.execute(query), key=repr)
    kept = settings.home / "artifacts" / "sha256"
    files = {file.name: file.read_bytes() for file in kept.rglob("*") if file.is_file()}
    keys = {name: (settings.home / name).read_text() for name in KEYS}
    return {"rows": rows, "files": files, "keys": keys}


def check_service(stored: Stored, settings: Settings) -> None:
    """Checks that a service has what the home had, and that its queued jobs run."""
    with InProcess(settings) as service:
        with service.client() as anybody:
            headers = {"authorization": f"Bearer {stored.token}"}
            assert anybody.get("/v1/jobs", headers=headers).status_code == 200
        [mine] = service.user.get("/v1/datasets").json()["datasets"]
        assert mine["name"] == "mine"
        files = service.user.get(f"/v1/jobs/{stored.ended}/artifacts").json()["artifacts"]
        [weights] = [file for file in files if file["name"] == "weights"]
        path = f"/v1/jobs/{stored.ended}/artifacts/{weights['id']}/content"
        assert service.user.get(path).content == b"weights"
        assert service.attempt(stored.queued).complete()["state"] == "succeeded"
        assert sweep_of(service, stored.sweep)["state"] == "running"
        # Keys go on: no new job gets a place or an id of a former one.
        listed = [job["id"] for job in service.user.get("/v1/jobs").json()["jobs"]]
        new = service.submit()["id"]
        assert new not in listed
        assert service.user.get("/v1/jobs").json()["jobs"][0]["id"] == new


@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
def test_a_new_home_has_all_of_the_old_one(
    stored: Stored, archive: Path, tmp_path: Path, to: str, postgresql_server: PostgreSQLServer
) -> None:
    home = tmp_path / "new"
    home.mkdir(mode=0o700)
    settings = Settings(home=home, broker_url=stored.settings.broker_url, port=0)
    if to == "postgresql":
        url = postgresql_server.new_database()
        settings = settings.model_copy(update={"database_url": url})
    restore(settings, archive)
    assert restore(settings, archive).was_there  # which changes nothing
    if to == "sqlite":
        assert everything(settings) == everything(stored.settings)
    again = tmp_path / "again.tar"
    make(settings, again)
    assert check(again).tables == check(archive).tables
    check_service(stored, settings)


def test_jobs_go_on_while_a_backup_is_made(stored: Stored, tmp_path: Path) -> None:
    """Checkpoints are replaced all the time: the archive has those of one moment."""
    with InProcess(stored.settings) as service:
        attempt = service.attempt(stored.queued)
        for number in range(10):
            attempt.put("c", "checkpoint", f"checkpoint {number}".encode())
            made = make(stored.settings, tmp_path / f"{number}.tar")
            assert made.missing == ()
        with pytest.raises(Conflict, match="stop the service"):
            restore(stored.settings, tmp_path / "9.tar", may_replace=True)
        assert attempt.complete()["state"] == "succeeded"
    restore(stored.settings, tmp_path / "9.tar", may_replace=True)
    with InProcess(stored.settings) as service:
        service.expire_leases()
        eventually(lambda: service.job(stored.queued)["state"] == "queued")
        assert service.attempt(stored.queued).claim["checkpoint"] is not None


def test_a_large_file_ends_no_transaction(
    stored: Stored,
    archive: Path,
    tmp_path: Path,
    postgresql_server: PostgreSQLServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that came after the first look is copied while one state of the database is read."""
    options = "-c idle_in_transaction_session_timeout=500ms"
    monkeypatch.setattr("ipulse_service.db.postgresql._OPTIONS", options)
    new = stored.elsewhere(tmp_path / "new", database_url=postgresql_server.new_database())
    new.home.chmod(0o700)
    restore(new, archive)
    looks = iter([dict[str, bool]()])

    def first_nothing(transaction: Transaction) -> dict[str, bool]:
        for nothing in looks:
            return nothing
        return used_digests(transaction)

    monkeypatch.setattr("ipulse_service.files.stored.used_digests", first_nothing)
    copied = Blobs.open

    def slow(store: Blobs, sha256: str, start: int = 0) -> BinaryIO:
        time.sleep(0.7)
        return copied(store, sha256, start)

    monkeypatch.setattr(Blobs, "open", slow)
    assert make(new, tmp_path / "again.tar").missing == ()


def test_an_archive_has_no_keys_unless_they_are_wanted(stored: Stored, tmp_path: Path) -> None:
    archive = tmp_path / "shared.tar"
    made = make(stored.settings, archive, with_keys=False)
    assert made.keys == ()
    content = archive.read_bytes()
    for secret in [*(stored.home / name for name in KEYS)]:
        assert secret.read_bytes().strip() not in content
    assert stored.token.encode() not in content
    settings = settings_for(tmp_path / "new", stored.settings.broker_url)
    settings.home.chmod(0o700)
    before = (settings.home / "token").read_text()
    restore(settings, archive)
    assert (settings.home / "token").read_text() == before
    assert not (settings.home / "agent-key").exists()  # the service makes one when it starts


def test_what_is_there_is_replaced_only_on_demand(
    stored: Stored, archive: Path, redis_server: RedisServer
) -> None:
    with InProcess(stored.settings) as service:
        later = service.submit()["id"]
    before = everything(stored.settings)
    with pytest.raises(Conflict, match="--replace"):
        restore(stored.settings, archive)
    assert everything(stored.settings) == before
    restore(stored.settings, archive, may_replace=True)
    with InProcess(stored.settings) as service:
        assert service.user.get(f"/v1/jobs/{later}").status_code == 404
    with pytest.raises(Conflict, match="exists"):
        make(stored.settings, archive)


def test_a_damaged_archive_changes_nothing(stored: Stored, archive: Path, tmp_path: Path) -> None:
    content = archive.read_bytes()
    ends = len(content) - 1024  # zeros follow
    draw = random.Random(7)
    before = everything(stored.settings)
    damaged = tmp_path / "damaged.tar"
    sound, passed = check(archive), 0
    for _ in range(60):
        place = draw.randrange(ends)
        changed = bytearray(content)
        changed[place] ^= 1 << draw.randrange(8)
        damaged.write_bytes(changed)
        with suppress(InvalidInput):
            # A byte between two members, or of a header's date, changes no content.
            assert check(damaged) == sound
            passed += 1
    assert passed < 60
    for length in (0, 1, 511, len(content) // 2, ends - 512):
        damaged.write_bytes(content[:length])
        with pytest.raises(InvalidInput):
            restore(stored.settings, damaged, may_replace=True)
    assert everything(stored.settings) == before


@pytest.mark.parametrize("name", ["../evil", "/evil", "files/../../evil", "keys/..", "tables/x"])
def test_members_have_names_of_a_backup(stored: Stored, tmp_path: Path, name: str) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))
    with pytest.raises(InvalidInput, match="which no backup has"):
        restore(stored.settings, archive, may_replace=True)


def test_a_link_is_no_member(stored: Stored, tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        member = tarfile.TarInfo("keys/token")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(member)
    with pytest.raises(InvalidInput, match="which no backup has"):
        restore(stored.settings, archive, may_replace=True)


def test_a_file_that_the_store_lacks_is_named(stored: Stored, tmp_path: Path) -> None:
    kept = stored.home / "artifacts" / "sha256"
    files = sorted(path for path in kept.rglob("*") if path.is_file())
    files[0].unlink()
    files[1].write_bytes(b"other content")
    made = make(stored.settings, tmp_path / "backup.tar")
    assert set(made.missing) == {files[0].name, files[1].name}
    assert made.files == len(files) - 2


def test_a_full_disk_leaves_all_as_it_was(stored: Stored, archive: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "size=64k,mode=0700") as disk:
        with pytest.raises(Unavailable, match="free space"):
            make(stored.settings, disk / "backup.tar")
        assert list(disk.iterdir()) == []
        settings = Settings(home=disk / "home", broker_url=stored.settings.broker_url)
        with pytest.raises(Unavailable, match="free space"):
            restore(settings, archive)
        assert not (disk / "home" / "ipulse.db").exists()


def test_a_disk_that_fills_during_a_restore(
    stored: Stored, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipulse_service.backup.restoring._check_room", lambda *_: None)
    with small_disk(tmp_path / "small", "size=300k,mode=0700") as disk:
        settings = Settings(home=disk / "home", broker_url=stored.settings.broker_url)
        with pytest.raises(Unavailable) as caught:
            restore(settings, archive)
        assert "full" in str(caught.value) or "space" in str(caught.value)
        names = {path.name for path in (disk / "home").iterdir()}
        assert names <= {"lock", "logs", "artifacts"}


def killed_at(call: int, work: Callable[[], Any]) -> bool:
    """Runs the work in a process that is killed at a call which changes the disk.

    Returns False if there are fewer such calls.
    """
    child = os.fork()
    if child == 0:
        count = 0

        def counted(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*arguments: Any, **options: Any) -> Any:
                nonlocal count
                count += 1
                if count == call:
                    os._exit(9)
                return function(*arguments, **options)

            return run

        for name in ("replace", "rename", "unlink", "fsync", "fdatasync"):
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        except BaseException:  # noqa: BLE001 - only the exit code leaves this process
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def test_a_restore_that_is_killed_anywhere_is_completed_by_the_next(
    stored: Stored, archive: Path, tmp_path: Path
) -> None:
    wanted = everything(stored.settings)
    with InProcess(stored.settings) as service:  # something else, which is replaced
        service.submit()
    (stored.home / "token").write_text("another token of the home that is replaced\n")
    present = everything(stored.settings)
    call = 1
    while True:
        home = tmp_path / f"home-{call}"
        shutil.copytree(stored.home, home)
        settings = stored.settings.model_copy(
            update={
                "home": home,
                "database_url": f"sqlite:///{home}/ipulse.db",
                "artifacts_dir": home / "artifacts",
                "token_file": home / "token",
                "agent_key_file": home / "agent-key",
            }
        )
        is_killed = killed_at(call, partial(restore, settings, archive, may_replace=True))
        found = everything(settings)
        assert found["rows"] in (present["rows"], wanted["rows"])
        assert found["files"].items() >= wanted["files"].items()
        restore(settings, archive, may_replace=found["rows"] == present["rows"])
        assert everything(settings) == wanted
        assert not list(home.glob(".*")) or is_killed
        if not is_killed:
            break
        call += 1
    assert call > 5


def test_a_backup_that_is_killed_leaves_no_archive(stored: Stored, tmp_path: Path) -> None:
    archive = tmp_path / "backup.tar"
    call = 1
    while killed_at(call, lambda: make(stored.settings, archive)):
        assert not archive.exists() or check(archive).missing == ()
        archive.unlink(missing_ok=True)
        call += 1
    assert check(archive).missing == ()
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".draft")] == []


def test_a_damaged_database_is_kept_beside_the_restored_one(stored: Stored, archive: Path) -> None:
    wanted = everything(stored.settings)
    database = stored.home / "ipulse.db"
    content = bytearray(database.read_bytes())
    content[100:4000] = os.urandom(3900)
    database.write_bytes(content)
    with pytest.raises(IPUlseError):
        make(stored.settings, archive.with_name("other.tar"))
    with pytest.raises(Conflict, match="--replace"):
        restore(stored.settings, archive)
    restore(stored.settings, archive, may_replace=True)
    assert everything(stored.settings) == wanted
    [kept] = stored.home.glob("ipulse.db.damaged-*")
    assert kept.read_bytes() == content


# Of others, an edited revision made tables that no revision makes today.
OF_OLD = [
    path for path in ARCHIVES if path.name.startswith(("ca970c3f-postgresql", "b738df70-sql"))
]


@pytest.mark.parametrize("archived", OF_OLD, ids=lambda path: path.name.partition(".")[0])
def test_a_backup_of_an_older_schema_is_upgraded(
    archived: Path,
    tmp_path: Path,
    redis_server: RedisServer,
    postgresql_server: PostgreSQLServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the older version would make it, whose tables are those of the stored home."""
    home = take(archived, tmp_path / "old", postgresql_server)
    old = settings_for(home.folder, redis_server.url, **home.settings)
    with pytest.raises(Unavailable, match="start the service"):
        make(old, tmp_path / "refused.tar")
    of_its_time(old, monkeypatch)
    make(old, tmp_path / "backup.tar")
    monkeypatch.undo()
    new = Settings(home=tmp_path / "new", broker_url=redis_server.url, port=0, lease_seconds=600.0)
    restore(new, tmp_path / "backup.tar")
    with InProcess(new) as service:
        check_jobs(home, service)


def of_its_time(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `make` work with the tables and the revision that a database has."""
    database = Database(settings.database_url)
    with database.read() as transaction:
        revision = migrations.revision_of(transaction)
        reflected = MetaData()
        reflected.reflect(transaction.connection)
    database.close()
    reflected.remove(reflected.tables["alembic_version"])
    monkeypatch.setattr(migrations, "newest", lambda: revision)
    monkeypatch.setattr("ipulse_service.backup.making.metadata", reflected)

    def used_digests(transaction: Transaction) -> dict[str, bool]:
        found = transaction.connection.exec_driver_sql("SELECT sha256 FROM artifacts")
        return dict.fromkeys(found.scalars(), True)

    monkeypatch.setattr("ipulse_service.files.stored.used_digests", used_digests)


def test_a_backup_of_a_newer_version_is_refused(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "backup.tar"
    make(stored.settings, archive)
    monkeypatch.setattr(migrations, "newest", lambda: "0001")
    before = everything(stored.settings)
    with pytest.raises(Unavailable, match="newer version"):
        restore(stored.settings, archive, may_replace=True)
    assert everything(stored.settings) == before


def test_a_home_without_a_database_has_nothing_to_back_up(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "none")
    with pytest.raises(NotFound, match="--home"):
        make(settings, tmp_path / "backup.tar")
    assert list(tmp_path.iterdir()) == []


def test_a_home_moves_to_postgresql(
    stored: Stored, tmp_path: Path, postgresql_server: PostgreSQLServer
) -> None:
    url = postgresql_server.new_database()
    with InProcess(stored.settings), pytest.raises(Conflict, match="stop the service"):
        move(stored.settings, url)
    assert killed_at(1, lambda: move(stored.settings, url))  # all rows are there
    make(stored.settings, tmp_path / "before.tar")
    moved = move(stored.settings, url)
    assert moved.was_there
    assert move(stored.settings, url) == moved
    assert moved.rows["jobs"] >= 2
    assert not (stored.home / "ipulse.db").exists()
    assert moved.kept.exists()
    with_postgresql = {**stored.settings.model_dump(exclude_unset=True), "database_url": url}
    settings = Settings(**with_postgresql)
    make(settings, tmp_path / "after.tar")
    assert check(tmp_path / "after.tar").tables == check(tmp_path / "before.tar").tables
    check_service(stored, settings)


@pytest.mark.parametrize(
    "url", ["", "sqlite:////tmp/other.db", "mysql://a@b/c", "postgresql", "http://example.org"]
)
def test_a_home_moves_to_postgresql_only(stored: Stored, url: str) -> None:
    with pytest.raises(InvalidInput, match="postgresql://"):
        move(stored.settings, url)


def test_no_other_rows_are_lost_by_a_move(
    stored: Stored, tmp_path: Path, postgresql_server: PostgreSQLServer, redis_server: RedisServer
) -> None:
    url = postgresql_server.new_database()
    with InProcess(settings_for(tmp_path / "x", redis_server.url, database_url=url)) as service:
        job = service.submit()["id"]
    before = everything(stored.settings)
    with pytest.raises(Conflict, match="of its own"):
        move(stored.settings, url)
    assert everything(stored.settings) == before
    with InProcess(settings_for(tmp_path / "x", redis_server.url, database_url=url)) as service:
        assert service.job(job)["state"] == "queued"


def test_tables_of_another_program_are_not_replaced(
    stored: Stored, tmp_path: Path, postgresql_server: PostgreSQLServer
) -> None:
    url = postgresql_server.new_database()
    other = Database(url)
    with other.write() as transaction:
        transaction.connection.execute(text("CREATE TABLE jobs AS SELECT 12 AS x"))
    other.close()
    make(stored.settings, tmp_path / "backup.tar")
    elsewhere = stored.settings.model_copy(update={"home": tmp_path / "new", "database_url": url})
    for work in (
        lambda: move(stored.settings, url),
        lambda: restore(elsewhere, tmp_path / "backup.tar", may_replace=True),
    ):
        with pytest.raises(Conflict, match="another program"):
            work()
    with other.read() as transaction:
        assert transaction.connection.execute(text("SELECT x FROM jobs")).scalars().all() == [12]
    other.close()


def test_a_home_is_not_moved_to_two_databases(
    stored: Stored, postgresql_server: PostgreSQLServer
) -> None:
    first, second = postgresql_server.new_database(), postgresql_server.new_database()
    move(stored.settings, first)
    with pytest.raises(Conflict, match="run twice"):
        move(stored.settings, second)
    move(stored.settings, first)


def test_commands_print_their_errors_alone(stored: Stored) -> None:
    """Without a log of the service Python would print the names of its events."""
    url = "postgresql://nobody@127.0.0.1:1/none"
    done = subprocess.run(
        [sys.executable, "-m", "ipulse", "migrate", url, "--home", stored.home],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert re.fullmatch(r"ipulse: .*Connection refused.*\n", done.stderr), done.stderr


def test_the_image_of_the_service_has_the_commands(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "backup.tar"
    monkeypatch.setenv("IPULSE_HOME", str(stored.home))
    assert main(["make", str(archive)]) == 0
    assert main(["make", str(archive)]) == 5
    monkeypatch.setenv("IPULSE_HOME", str(tmp_path / "new"))
    assert main(["restore", str(archive)]) == 0
    restored = stored.settings.model_copy(update={"home": tmp_path / "new"})
    assert everything(restored) == everything(stored.settings)
    assert main(["migrate", "sqlite:///other.db"]) == 5

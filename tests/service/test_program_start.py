"""The service as a program that starts, or says why it cannot."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Column, MetaData, String, Table, insert, select, text

from ipulse.stack.program_log import CANNOT_START
from ipulse_service.db import migrations
from ipulse_service.db.engine import Database
from ipulse_service.selftest.postgresql import USER
from tests.service.test_program import log_lines

from .postgresql_server import PostgreSQLServer
from .running import ROOT, Program, settings_for


class TestStart:
    def start(self, home: Path, **environment: str) -> tuple[int, str]:
        """The exit code, and the reason in the log of a service that does not start."""
        done = subprocess.run(
            [sys.executable, "-m", "ipulse_service"],
            cwd=ROOT,
            env={"IPULSE_HOME": str(home), "IPULSE_PORT": "0", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        lines = [json.loads(text) for text in done.stderr.splitlines()]
        assert len(done.stderr) < 2000
        (reason,) = [line["error"] for line in lines if line["action"] == CANNOT_START]
        assert "\n" not in reason
        return done.returncode, reason

    def test_a_missing_token_file_is_reported_with_a_hint(self, home: Path) -> None:
        code, log = self.start(home)
        assert code == 2
        assert "ipulse up" in log

    def test_a_taken_port_is_named(self, home: Path) -> None:
        settings_for(home, "redis://unused")
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            code, log = self.start(home, IPULSE_PORT=port)
        assert code == 2
        assert f"127.0.0.1:{port}" in log

    def test_a_socket_that_was_not_handed_down_is_named(self, home: Path) -> None:
        settings_for(home, "redis://unused")
        code, log = self.start(home, IPULSE_LISTEN_FD="1")
        assert code == 2
        assert "IPULSE_LISTEN_FD=1 is no socket" in log

    def test_other_machines_need_a_decision(self, home: Path) -> None:
        code, log = self.start(home, IPULSE_HOST="192.0.2.1")
        assert code == 2
        assert "IPULSE_ALLOW_REMOTE" in log

    def test_a_file_that_is_no_database_is_not_touched(self, home: Path) -> None:
        settings_for(home, "redis://unused")
        (home / "ipulse.db").write_text("something else entirely" * 100)
        code, log = self.start(home)
        assert code == 3
        assert "file is not a database" in log
        assert (home / "ipulse.db").read_text() == "something else entirely" * 100

    def test_a_database_of_a_newer_version_is_named(self, home: Path) -> None:
        database = Database(settings_for(home, "redis://unused").database_url)
        migrations.upgrade(database)
        with database.write() as transaction:
            newer = text("UPDATE alembic_version SET version_num = '9999'")
            transaction.connection.execute(newer)
        database.close()
        code, log = self.start(home)
        assert code == 3
        assert "belongs to a newer version" in log

    def test_a_database_that_was_moved_is_not_begun_anew(self, home: Path) -> None:
        settings_for(home, "redis://unused")
        (home / "ipulse.db.moved").touch()
        code, log = self.start(home)
        assert code == 3
        assert "set IPULSE_DATABASE_URL" in log
        assert not (home / "ipulse.db").exists()

    @pytest.mark.parametrize("name", ["jobs", "alembic_version"])
    def test_tables_of_another_program_are_not_touched(
        self, home: Path, postgresql_server: PostgreSQLServer, name: str
    ) -> None:
        settings_for(home, "redis://unused")
        url = postgresql_server.new_database()
        table = Table(name, MetaData(), Column("version_num", String))
        database = Database(url)
        with database.write() as transaction:
            table.create(transaction.connection)
            transaction.connection.execute(insert(table).values(version_num="1f00"))
        code, log = self.start(home, IPULSE_DATABASE_URL=url)
        assert code == 3
        assert "of another program" in log
        with database.read() as transaction:
            assert transaction.connection.execute(select(table)).scalars().all() == ["1f00"]
        database.close()

    @pytest.mark.parametrize(
        ("url", "fix"),
        [
            ("nonsense", "IPULSE_DATABASE_URL"),
            ("postgresql://me:secret@host:port/ipulse", "IPULSE_DATABASE_URL"),
            ("mysql://me:secret@host/ipulse", "IPULSE_DATABASE_URL"),
            ("sqlite:////proc/none/ipulse.db", "/proc/none"),
        ],
    )
    def test_a_wrong_url_of_a_database_is_named(self, home: Path, url: str, fix: str) -> None:
        settings_for(home, "redis://unused")
        code, log = self.start(home, IPULSE_DATABASE_URL=url)
        assert code in (2, 3)
        assert fix in log
        assert "secret" not in log

    @pytest.mark.parametrize("wrong", ["database", "user"])
    def test_what_postgresql_refuses_is_named(
        self, home: Path, postgresql_server: PostgreSQLServer, wrong: str
    ) -> None:
        settings_for(home, "redis://unused")
        url = postgresql_server.new_database()
        name = url.partition("@/")[2].partition("?")[0]
        wrong_url = {
            "database": url.replace(name, "not_there"),
            "user": url.replace(f"{USER}@", "nobody_at_all@"),
        }
        code, log = self.start(home, IPULSE_DATABASE_URL=wrong_url[wrong])
        assert code == 3
        assert "IPULSE_DATABASE_URL" in log

    def test_a_home_that_cannot_be_written_is_named(self, home: Path) -> None:
        settings_for(home, "redis://unused")
        (home / "artifacts").write_text("a file")
        code, log = self.start(home)
        assert code == 3
        assert str(home / "artifacts") in log

    def test_a_certificate_that_is_none_is_named(self, home: Path) -> None:
        settings_for(home, "redis://unused")
        token = str(home / "token")
        code, log = self.start(home, IPULSE_TLS_CERTIFICATE=token, IPULSE_TLS_KEY=token)
        assert code == 2
        assert token in log

    def test_a_wrong_setting_is_named_without_the_others(self, home: Path) -> None:
        password = "redis://:hunter2@127.0.0.1"  # noqa: S105 - of a broker that is not there
        wrong = {"IPULSE_HEARTBEAT_SECONDS": "99", "IPULSE_BROKER_URL": password}
        code, log = self.start(home, **wrong)
        assert code == 2
        assert "heartbeat_seconds must be shorter" in log
        assert "hunter2" not in log

    def test_what_it_writes_is_for_its_user_only(self, program: Program) -> None:
        with program:
            attempt = program.attempt(program.submit()["id"])
            attempt.put("a.bin", "weights", b"abc")
            home = program.settings.home
            written = [home / "server.json", *home.glob("ipulse.db*")]
            written += (home / "artifacts").rglob("*")
            assert len(written) > 5
            for path in written:
                assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path

    def test_the_log_is_json_and_holds_no_secret(self, program: Program) -> None:
        with program:
            attempt = program.attempt(program.submit()["id"])
            attempt.complete()
            attempt.finish("diverged")
            token = program.settings.token_file.read_text().strip()
            program.user.get("/v1/jobs", params={"token": token, "page_token": "abc"})
            requests = [entry for entry in log_lines(program) if entry["action"] == "request"]
            assert {"time", "level", "request_id", "method", "path", "status", "ms"} <= set(
                requests[0]
            )
            claimed = next(e for e in requests if e["path"] == "/v1/worker/claims")
            assert claimed["job"] == attempt.claim["job_id"]
            assert claimed["attempt"] == attempt.claim["attempt_id"]
            text = program.log_path.read_text()
            worker_token = program.agent_token()
            for secret in (token, worker_token, attempt.fence):
                assert secret not in text

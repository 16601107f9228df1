"""The service as a program that starts, or says why it cannot."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
from pathlib import Path

from tests.service.test_program import log_lines

from .running import ROOT, Program, settings_for


class TestStart:
    def start(self, home: Path, **environment: str) -> tuple[int, str]:
        """The exit code, and the log of a service that does not start."""
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
        return done.returncode, "\n".join(line.get("error") or line["action"] for line in lines)

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
            worker_token = program.settings.worker_token_file.read_text().strip()
            for secret in (token, worker_token, attempt.fence):
                assert secret not in text

"""The command line as a program: exit codes, streams, and everything that may be wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ipulse import __version__
from ipulse.install_hint import install_hint
from ipulse.stack.tls import self_signed
from tests import local_agents
from tests.ipulse.live_service import ROOT, Agent, LiveService

from .conftest import FILES, Run, environment, finished


class TestTrouble:
    def test_no_such_job(self, run: Run) -> None:
        for command in ("status", "watch", "logs", "download", "profile", "cancel"):
            ran = run(command, "job_of_nobody", "--json")
            assert ran.code == 3
            assert ran.json["error"]["code"] == "not_found"

    def test_no_service_known(self, offline: Run, tmp_path: Path) -> None:
        ran = offline("list", IPULSE_HOME=str(tmp_path))
        assert ran.code == 5
        assert "ipulse up`" in ran.err

    def test_no_service_there(self, offline: Run, tmp_path: Path) -> None:
        ran = offline("list", "--url", "http://127.0.0.1:1", "--json", IPULSE_TOKEN="t" * 40)
        assert ran.code == 5
        assert ran.json["error"]["code"] == "unavailable"
        assert "no service at http://127.0.0.1:1" in ran.err

    def test_a_wrong_token(self, run: Run, tmp_path: Path) -> None:
        wrong = tmp_path / "wrong"
        wrong.write_text("nobody-has-this-one")
        ran = run("list", "--token-file", str(wrong))
        assert ran.code == 4
        assert "nobody-has-this-one" not in ran.out + ran.err

    def test_an_agents_token_is_not_a_users(
        self, run: Run, service: LiveService, tmp_path: Path
    ) -> None:
        file = tmp_path / "token-of-an-agent"
        file.write_text(local_agents.token(service.home))
        ran = run("list", "--token-file", str(file))
        assert ran.code == 4

    @pytest.mark.parametrize(
        "arguments",
        [
            ["status"],
            ["stauts", "x"],
            ["list", "--limit", "0"],
            ["list", "--limit", "9" * 20],
            ["list", "--colour"],
            ["up", "x"],
        ],
        ids=" ".join,
    )
    def test_wrong_usage(self, offline: Run, arguments: Any) -> None:
        ran = offline(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("ipulse: ")
        assert "Usage: ipulse" in ran.err

    def test_an_unexpected_error_is_a_line_and_a_hint(self, tmp_path: Path) -> None:
        program = (
            "import ipulse.cli.options as options, ipulse.cli, sys\n"
            "options.Address.connect = lambda *_: 1 / 0\n"
            "sys.exit(ipulse.cli.main(['list']))\n"
        )

        def ran(**more: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", program]
            env = environment(**more)
            return subprocess.run(command, capture_output=True, text=True, env=env, check=False)

        plain = ran()
        assert plain.returncode == 6
        assert "ZeroDivisionError" in plain.stderr
        assert "IPULSE_DEBUG=1" in plain.stderr
        assert "Traceback" not in plain.stderr
        assert "Traceback" in ran(IPULSE_DEBUG="1").stderr

    def test_missing_libraries_have_an_install_hint(self) -> None:
        program = (
            "import sys; sys.modules['{}'] = None\n"
            "import ipulse.cli; sys.exit(ipulse.cli.main({}))\n"
        )
        for name, arguments in (("typer", ["list"]), ("httpx", ["list"]), ("yaml", ["init"])):
            command = [sys.executable, "-c", program.format(name, arguments)]
            env = environment()
            ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
            assert ran.returncode == 5
            assert "in a checkout of the IPUlse repository" in ran.stderr
            assert "Traceback" not in ran.stderr

    @pytest.mark.parametrize(
        ("missing", "arguments"),
        [
            ("uvicorn", ["up", "--port", "0"]),
            ("celery", ["demo"]),
            ("ipulse_service", ["selftest", "--faults"]),
            ("ipulse_worker", ["crosscheck", str(ROOT / "examples" / "randman.yaml")]),
            ("ipulse_ops", ["op", "check", "library.so"]),
            ("ipulse_ops", ["cache", "list"]),
            ("poplar_emulator", ["emulate", str(ROOT / "examples" / "poplar" / "streams.cpp")]),
        ],
        ids=str,
    )
    @pytest.mark.sample(1)
    def test_a_command_without_its_package_has_an_install_hint(
        self, missing: str, arguments: Any, tmp_path: Path
    ) -> None:
        program = (
            f"import sys; sys.modules['{missing}'] = None\n"
            f"import ipulse.cli; sys.exit(ipulse.cli.main({arguments!r}))\n"
        )
        env = environment(IPULSE_HOME=str(tmp_path / "home"))
        command = [sys.executable, "-c", program]
        ran = subprocess.run(
            command, capture_output=True, text=True, env=env, check=False, cwd=tmp_path
        )
        assert ran.returncode == 5
        assert install_hint("all") in ran.stderr
        assert "Traceback" not in ran.stderr
        assert list(tmp_path.iterdir()) == []


class TestProgram:
    """The same as a program of its own: streams and exit codes are the operating system's."""

    def test_from_a_file_to_its_files(
        self, service: LiveService, agent: Agent, spec_file: Path, tmp_path: Path
    ) -> None:
        home = {"IPULSE_HOME": str(service.home)}
        submitted = finished("submit", str(spec_file), "--json", **home)
        assert (submitted.code, submitted.err) == (0, "")
        job_id = submitted.json["id"]
        agent.claim(job_id).run(FILES, ["a line"])
        watched = finished("watch", job_id, "--json", **home)
        assert (watched.code, watched.err) == (0, "")
        assert watched.lines[-1]["summary"] == {"test_accuracy": 0.975}
        fetched = finished("download", job_id, "--to", str(tmp_path / "got"), "--json", **home)
        assert (fetched.code, fetched.err) == (0, "")
        assert {Path(p).name: Path(p).read_bytes() for p in fetched.json["files"]} == FILES

    def test_exit_codes(self, service: LiveService, run: Run, offline: Run, tmp_path: Path) -> None:
        assert finished("validate", "-", stdin="{}").code == 2
        assert offline("lst").code == 2
        assert finished("status", "job_of_nobody", IPULSE_HOME=str(service.home)).code == 3
        wrong = {"IPULSE_TOKEN": "wrong"}
        assert run("list", **wrong).code == 4
        assert offline("list", IPULSE_HOME=str(tmp_path)).code == 5


class TestItself:
    def test_version(self, offline: Run) -> None:
        assert offline("--version").out == f"{__version__}\n"
        assert offline("--version", "--json").json == {"version": __version__}

    def test_help_names_commands_and_exit_codes(self, offline: Run) -> None:
        ran = offline("--help")
        assert ran.code == 0
        for word in ("submit", "watch", "demo", "130  interrupted by Ctrl-C"):
            assert word in ran.out

    def test_a_terminal_without_the_characters_shows_escapes(self) -> None:
        ran = finished("validate", "-", stdin="\u2713: 1\n", PYTHONIOENCODING="ascii")
        assert ran.code == 2
        assert "/\\u2713: there is no such field" in ran.err

    @pytest.mark.parametrize("arguments", [["--version"], ["--version", "--json"], ["--help"]])
    @pytest.mark.sample(1)
    def test_a_full_disk_is_reported_in_a_line(self, arguments: Any) -> None:
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "ipulse", *arguments]
            ran = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
            )
        assert (ran.returncode, ran.stderr) == (6, b"ipulse: No space left on device\n")

    def test_up_refuses_other_machines(self, offline: Run) -> None:
        ran = offline("up", "--host", "0.0.0.0", "--json")  # noqa: S104  # it is refused
        assert ran.code == 2
        assert "--tls" in ran.err
        assert "--allow-remote" in ran.err

    def test_up_refuses_a_certificate_it_cannot_serve(self, offline: Run, tmp_path: Path) -> None:
        certificate, _ = self_signed(tmp_path)
        ran = offline("up", "--tls-cert", str(certificate), "--tls-key", str(certificate))
        assert ran.code == 2
        assert "tls-certificate.pem is not the certificate's private key" in ran.err
        assert offline("up", "--tls-cert", str(certificate)).code == 2

    @pytest.mark.parametrize("user", [0, 1000])
    def test_root_is_warned(
        self, offline: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: user)
        home = tmp_path / "a file"
        home.write_text("")
        ran = offline("up", "--home", str(home / "below"))  # which ends the start
        assert ran.code != 0
        assert ("runs as root" in ran.err) is (user == 0)

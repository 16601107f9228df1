"""Each command, as a program against the real service: its output and its exit code."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ipulse import __version__
from ipulse.client import Client
from tests.ipulse.live_service import Agent, LiveService

from .conftest import FILES, SPEC, Run, environment, finished, started


class TestValidate:
    def test_a_valid_spec(self, offline: Run, spec_file: Path) -> None:
        ran = offline("validate", str(spec_file))
        assert (ran.code, ran.err) == (0, "")
        assert "is valid" in ran.out
        assert "64 - 8 - 10" in ran.out

    def test_json_is_what_the_service_would_say(self, run: Run, client: Client) -> None:
        ran = run("validate", "-", "--json", stdin=json.dumps(SPEC))
        valid = client.validate(SPEC)
        assert ran.code == 0
        assert ran.json == {"valid": True, "spec": valid.spec, "spec_sha256": valid.sha256}

    def test_problems_come_with_file_and_line(self, offline: Run, tmp_path: Path) -> None:
        file = tmp_path / "bad.yaml"
        file.write_text("version: 1\nseed: -1\nnetwork:\n  layers:\n    - {neurons: 0}\n")
        ran = offline("validate", str(file))
        assert ran.code == 2
        assert ran.out == ""
        assert f"{file}:2: /seed: must be at least 0" in ran.err
        assert f"{file}:5: /network/layers/0/neurons: must be at least 1; got 0" in ran.err

    def test_problems_as_json(self, offline: Run) -> None:
        ran = offline("validate", "-", "--json", stdin="version: 1\nnetwork: {layers: []}\n")
        assert ran.code == 2
        error = ran.json["error"]
        assert error["code"] == "invalid_spec"
        (problem,) = error["problems"]
        assert (problem["pointer"], problem["line"]) == ("/network/layers", 2)

    def test_a_syntax_error_has_its_line(self, offline: Run) -> None:
        ran = offline("validate", "-", stdin="version: 1\nnetwork: [1, 2\n")
        assert ran.code == 2
        assert "(standard input):3:1: " in ran.err

    def test_a_file_that_is_not_there(self, offline: Run) -> None:
        ran = offline("validate", "none.yaml")
        assert ran.code == 2
        assert "none.yaml: No such file" in ran.err

    def test_a_folder(self, offline: Run, tmp_path: Path) -> None:
        assert offline("validate", str(tmp_path)).code == 2


class TestSubmit:
    def test_the_id_is_all_that_is_printed(self, run: Run, client: Client, spec_file: Path) -> None:
        ran = run("submit", str(spec_file))
        assert (ran.code, ran.err) == (0, "")
        assert client.get(ran.out.strip()).name == "small"

    def test_json_is_the_job(self, run: Run, spec_file: Path) -> None:
        ran = run("submit", "-", "--json", stdin=spec_file.read_text())
        assert (ran.code, ran.json["state"]) == (0, "queued")

    def test_the_same_key_is_the_same_job(self, run: Run, spec_file: Path) -> None:
        ids = {run("submit", str(spec_file), "--key", "cli-once").out for _ in range(2)}
        assert len(ids) == 1

    def test_an_invalid_spec_is_not_sent(self, offline: Run, tmp_path: Path) -> None:
        ran = offline("submit", "-", stdin="{}", IPULSE_HOME=str(tmp_path))
        assert ran.code == 2  # and not 5: nobody asked for the service


class TestWatch:
    def test_a_job_that_succeeds(self, run: Run, client: Client, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["a line", "another"])
        ran = run("watch", job.id)
        assert (ran.code, ran.err) == (0, "")
        assert "accuracy 50.0%" in ran.out
        assert ran.out.splitlines()[-1] == "succeeded: test accuracy 97.50%"

    def test_json_is_the_events_and_then_the_job(
        self, run: Run, client: Client, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, [])
        ran = run("watch", job.id, "--json")
        *events, last = ran.lines
        assert ran.code == 0
        assert events == [event.json for event in client.events(job.id)]
        assert last == client.get(job.id).json

    def test_a_job_that_fails(self, run: Run, client: Client, agent: Agent) -> None:
        job = client.submit(SPEC)
        attempt = agent.claim(job.id)
        attempt.say({"kind": "phase", "phase": "prepare"})
        attempt.finish("diverged", "the loss is no number at step 7")
        ran = run("watch", job.id)
        assert ran.code == 1
        assert "failed (diverged)" in ran.out.splitlines()[-1]
        assert "no number at step 7" in ran.out

    def test_a_cancelled_job(self, run: Run, client: Client) -> None:
        job = client.submit(SPEC)
        client.cancel(job.id)
        assert run("watch", job.id).code == 1

    def test_submit_and_watch_in_one(
        self, service: LiveService, agent: Agent, spec_file: Path
    ) -> None:
        running = started("submit", str(spec_file), "--watch", IPULSE_HOME=str(service.home))
        assert running.stdout is not None
        job_id = running.stdout.readline().strip()
        agent.claim(job_id).run(FILES, [])
        out, err = running.communicate(timeout=60)
        assert (running.returncode, err) == (0, "")
        assert "succeeded: test accuracy 97.50%" in out

    def test_ctrl_c_detaches_and_the_job_goes_on(
        self, service: LiveService, client: Client, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        attempt = agent.claim(job.id)
        attempt.say({"kind": "phase", "phase": "prepare"})
        running = started("watch", job.id, IPULSE_HOME=str(service.home))
        assert running.stdout is not None
        assert "queued" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 130
        assert "the job goes on" in err
        assert f"ipulse cancel {job.id}" in err
        assert "Traceback" not in err
        assert client.get(job.id).state.value == "preparing"


class TestLogs:
    def test_the_lines_of_the_job(self, run: Run, client: Client, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["first", "second \u2028 [bold]x[/bold]", "a\tb"])
        ran = run("logs", job.id)
        assert ran.code == 0
        assert ran.out.splitlines() == ["first", "second \\u2028 [bold]x[/bold]", "a    b"]

    def test_json_is_an_event_a_line(self, run: Run, client: Client, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["first", "second"])
        ran = run("logs", job.id, "--json")
        assert [event["message"] for event in ran.lines] == ["first", "second"]

    def test_following_until_the_end(
        self, service: LiveService, client: Client, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        running = started("logs", job.id, "--follow", IPULSE_HOME=str(service.home))
        attempt = agent.claim(job.id)
        attempt.say({"kind": "phase", "phase": "prepare"}, {"kind": "log", "message": "early"})
        assert running.stdout is not None
        assert running.stdout.readline() == "early\n"
        attempt.say({"kind": "log", "message": "late"})
        assert running.stdout.readline() == "late\n"
        attempt.finish("runner_error", "because")
        out, err = running.communicate(timeout=60)
        assert (running.returncode, out, err) == (0, "", "")

    def test_a_reader_that_leaves_is_no_error(
        self, service: LiveService, client: Client, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["x" * 5000] * 100)
        running = started("logs", job.id, IPULSE_HOME=str(service.home))
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr is not None
        err = running.stderr.read()
        running.stderr.close()
        assert (running.wait(timeout=60), err) == (141, "")


class TestResults:
    @pytest.fixture
    def job_id(self, client: Client, agent: Agent) -> str:
        job = client.submit({**SPEC, "metadata": {"who": "me"}})
        agent.claim(job.id).run(FILES, [])
        return job.id

    def test_artifacts(self, run: Run, job_id: str) -> None:
        ran = run("artifacts", job_id)
        assert ran.code == 0
        for name, content in FILES.items():
            (line,) = [line for line in ran.out.splitlines() if line.startswith(name)]
            assert hashlib.sha256(content).hexdigest() in line
        listed = run("artifacts", job_id, "--json").json["artifacts"]
        assert {one["name"]: one["size"] for one in listed} == {
            name: len(content) for name, content in FILES.items()
        }

    def test_download_into_a_folder_of_its_own(
        self, run: Run, job_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        ran = run("download", job_id)
        assert ran.code == 0
        assert {path.name: path.read_bytes() for path in (tmp_path / job_id).iterdir()} == FILES
        assert sorted(ran.out.splitlines()) == sorted(f"{job_id}/{name}" for name in FILES)

    def test_download_of_one_role_as_json(self, run: Run, job_id: str, tmp_path: Path) -> None:
        ran = run("download", job_id, "--to", str(tmp_path / "x"), "--only", "report", "--json")
        assert ran.code == 0
        assert ran.json == {
            "folder": str(tmp_path / "x"),
            "files": [str(tmp_path / "x" / "report.html")],
        }

    def test_download_of_a_role_that_is_not_there(self, run: Run, job_id: str) -> None:
        assert run("download", job_id, "--only", "trace").code == 3

    def test_download_of_a_role_there_never_is(self, run: Run, job_id: str) -> None:
        ran = run("download", job_id, "--only", "song")
        assert ran.code == 2
        assert "metrics, weights" in ran.err

    def test_download_into_a_file(self, run: Run, job_id: str, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        ran = run("download", job_id, "--to", str(tmp_path / "file"))
        assert ran.code == 6
        assert "File exists" in ran.err

    def test_profile_as_json_and_saved(self, run: Run, job_id: str, tmp_path: Path) -> None:
        assert run("profile", job_id, "--json").json == {"schema": "a"}
        ran = run("profile", job_id, "--to", str(tmp_path / "p.json"))
        assert (ran.code, ran.out) == (0, f"{tmp_path / 'p.json'}\n")
        assert json.loads((tmp_path / "p.json").read_text()) == {"schema": "a"}

    def test_a_profile_of_another_kind_is_not_guessed_at(self, run: Run, job_id: str) -> None:
        ran = run("profile", job_id)
        assert ran.code == 6
        assert "`--json` prints it as it is" in ran.err

    def test_status(self, run: Run, job_id: str, client: Client) -> None:
        ran = run("status", job_id)
        assert ran.code == 0
        assert ran.out.startswith("succeeded: test accuracy 97.50%")
        assert re.search(r"^metadata who +me$", ran.out, re.MULTILINE)
        assert run("status", job_id, "--json").json == client.get(job_id).json

    def test_list(self, run: Run, job_id: str) -> None:
        ran = run("list", "--limit", "1")
        assert ran.code == 0
        header, line = ran.out.splitlines()
        assert header.split() == ["ID", "NAME", "STATE", "CREATED", "ACCURACY"]
        assert line.startswith(job_id)
        assert line.endswith("97.50%")
        found = run("list", "--state", "succeeded", "--limit", "3", "--json").json["jobs"]
        assert found[0]["id"] == job_id
        assert {job["state"] for job in found} == {"succeeded"}

    def test_list_of_a_state_there_is_not(self, run: Run) -> None:
        ran = run("list", "--state", "sleeping")
        assert ran.code == 2
        assert "retry_wait" in ran.err


class TestCancel:
    def test_cancel_twice(self, run: Run, client: Client) -> None:
        job = client.submit(SPEC)
        for _ in range(2):
            assert run("cancel", job.id).code == 0
        assert run("cancel", job.id, "--json").json["state"] == "cancelled"


class TestTrouble:
    def test_no_such_job(self, run: Run) -> None:
        for command in ("status", "watch", "logs", "artifacts", "download", "profile", "cancel"):
            ran = run(command, "job_of_nobody", "--json")
            assert ran.code == 3
            assert ran.json["error"]["code"] == "not_found"

    def test_no_service_known(self, offline: Run, tmp_path: Path) -> None:
        ran = offline("list", IPULSE_HOME=str(tmp_path))
        assert ran.code == 5
        assert "start one with `ipulse up`" in ran.err

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

    def test_the_workers_token_is_not_a_users(self, run: Run, service: LiveService) -> None:
        ran = run("list", "--token-file", str(service.home / "worker-token"))
        assert ran.code == 4

    @pytest.mark.parametrize(
        "arguments",
        [["status"], ["stauts", "x"], ["list", "--limit", "0"], ["list", "--colour"], ["up", "x"]],
        ids=" ".join,
    )
    def test_wrong_usage(self, offline: Run, arguments: Any) -> None:
        ran = offline(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "Usage: ipulse" in ran.err

    def test_an_error_nobody_foresaw_is_a_line_and_a_hint(self, tmp_path: Path) -> None:
        program = (
            "import ipulse.cli.jobs as jobs, ipulse.cli, sys\n"
            "jobs.connect = lambda *_: 1 / 0\n"
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

    def test_without_its_libraries_it_says_what_to_install(self) -> None:
        program = (
            "import sys; sys.modules['{}'] = None\n"
            "import ipulse.cli; sys.exit(ipulse.cli.main(['list']))\n"
        )
        for name in ("typer", "httpx", "yaml"):
            command = [sys.executable, "-c", program.format(name)]
            env = environment()
            ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
            assert ran.returncode == 5
            assert "pip install 'ipulse[" in ran.stderr
            assert "Traceback" not in ran.stderr


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

    def test_exit_codes(self, service: LiveService, tmp_path: Path) -> None:
        home = {"IPULSE_HOME": str(service.home)}
        assert finished("validate", "-", stdin="{}").code == 2
        assert finished("lst").code == 2
        assert finished("status", "job_of_nobody", **home).code == 3
        wrong = {**home, "IPULSE_TOKEN": "wrong"}
        assert finished("list", **wrong).code == 4
        assert finished("list", IPULSE_HOME=str(tmp_path)).code == 5


class TestItself:
    def test_version(self, offline: Run) -> None:
        assert offline("version").out == f"{__version__}\n"
        assert offline("--version").out == f"{__version__}\n"
        assert offline("version", "--json").json == {"version": __version__}

    def test_help_names_commands_and_exit_codes(self, offline: Run) -> None:
        ran = offline("--help")
        assert ran.code == 0
        for word in ("submit", "watch", "demo", "130  interrupted by Ctrl-C"):
            assert word in ran.out

    def test_a_terminal_without_the_characters_shows_escapes(self) -> None:
        ran = finished("validate", "-", stdin="\u2713: 1\n", PYTHONIOENCODING="ascii")
        assert ran.code == 2
        assert "/\\u2713: no such field" in ran.err

    def test_up_refuses_other_machines(self, offline: Run) -> None:
        ran = offline("up", "--host", "0.0.0.0", "--json")  # noqa: S104  # it is refused
        assert ran.code == 2
        assert "--allow-remote" in ran.err

"""status, list, cancel, and what a job left."""

from __future__ import annotations

import hashlib
import json
import re
import webbrowser
from pathlib import Path

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import FILES, SPEC, Run
from tests.ipulse.live_service import Agent


class TestResults:
    @pytest.fixture
    def job_id(self, client: Connection, agent: Agent) -> str:
        job = client.submit({**SPEC, "metadata": {"who": "me"}})
        agent.claim(job.id).run(FILES, [])
        return job.id

    def test_artifacts(self, run: Run, job_id: str) -> None:
        ran = run("download", "--list", job_id)
        assert ran.code == 0
        for name, content in FILES.items():
            (line,) = [line for line in ran.out.splitlines() if line.startswith(name)]
            assert hashlib.sha256(content).hexdigest() in line
        listed = run("download", "--list", job_id, "--json").json["artifacts"]
        assert {file["name"]: file["size"] for file in listed} == {
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

    def test_download_of_a_role_that_is_not_there(
        self, run: Run, job_id: str, tmp_path: Path
    ) -> None:
        ran = run("download", job_id, "--to", str(tmp_path / "x"), "--only", "trace")
        assert ran.code == 3
        assert not (tmp_path / "x").exists()

    def test_download_of_a_job_without_files(
        self, run: Run, client: Connection, tmp_path: Path
    ) -> None:
        job_id = client.submit(SPEC).id
        for more in ((), ("--json",)):
            ran = run("download", job_id, "--to", str(tmp_path / "x"), *more)
            assert ran.code == 3
            assert job_id in ran.err
        client.job(job_id).cancel()

    def test_download_of_a_role_there_never_is(self, run: Run, job_id: str) -> None:
        ran = run("download", job_id, "--only", "song")
        assert ran.code == 2
        assert "metrics, weights" in ran.err

    def test_download_into_a_file(self, run: Run, job_id: str, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        ran = run("download", job_id, "--to", str(tmp_path / "file"))
        assert ran.code == 2
        assert "File exists" in ran.err

    def test_download_where_a_directory_has_a_files_name(
        self, run: Run, job_id: str, tmp_path: Path
    ) -> None:
        (tmp_path / "report.html").mkdir()
        ran = run("download", job_id, "--to", str(tmp_path), "--only", "report")
        assert (ran.code, ran.err) == (2, f"ipulse: {tmp_path}/report.html: Is a directory\n")
        assert [path.name for path in tmp_path.iterdir()] == ["report.html"]

    def test_profile_as_json_and_saved(self, run: Run, job_id: str, tmp_path: Path) -> None:
        assert run("profile", job_id, "--json").json == {"schema": "a"}
        ran = run("profile", job_id, "--to", str(tmp_path / "p.json"))
        assert (ran.code, ran.out) == (0, f"{tmp_path / 'p.json'}\n")
        assert json.loads((tmp_path / "p.json").read_text()) == {"schema": "a"}

    def test_a_profile_of_another_schema_is_refused(self, run: Run, job_id: str) -> None:
        ran = run("profile", job_id)
        assert ran.code == 6
        assert "`--json` prints it unchanged" in ran.err

    def test_status(self, run: Run, job_id: str, client: Connection) -> None:
        ran = run("status", job_id)
        assert ran.code == 0
        assert ran.out.startswith("succeeded: test accuracy 97.5 %")
        assert re.search(r"^metadata who +me$", ran.out, re.MULTILINE)
        names = [line.split("  ")[0] for line in ran.out.splitlines()[1:]]
        assert len(names) == len(set(names)), names
        assert not any("seconds" in name for name in names)
        assert run("status", job_id, "--json").json == client.job(job_id).json

    def test_list(self, run: Run, job_id: str) -> None:
        ran = run("list", "--limit", "1")
        assert ran.code == 0
        header, line = ran.out.splitlines()
        assert header.split() == ["ID", "NAME", "STATE", "CREATED", "ACCURACY"]
        assert line.startswith(job_id)
        assert line.endswith("test 97.5 %")
        jobs = run("list", "--state", "succeeded", "--limit", "3", "--json").json["jobs"]
        assert jobs[0]["id"] == job_id
        assert {job["state"] for job in jobs} == {"succeeded"}

    def test_list_of_a_state_there_is_not(self, run: Run) -> None:
        ran = run("list", "--state", "sleeping")
        assert ran.code == 2
        assert "retry_wait" in ran.err


class TestCancel:
    def test_cancel_twice(self, run: Run, client: Connection) -> None:
        job = client.submit(SPEC)
        for _ in range(2):
            assert run("cancel", job.id).code == 0
        assert run("cancel", job.id, "--json").json["state"] == "cancelled"


def test_the_report_is_saved_and_opened(
    run: Run, client: Connection, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.submit(SPEC)
    ran = run("report", job.id, "--to", str(tmp_path))
    assert (ran.code, ran.out) == (3, "")
    agent.claim(job.id).run(FILES, [])
    browser: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: browser.append(url) or True)
    ran = run("report", job.id, "--to", str(tmp_path), "--open")
    path = tmp_path / "report.html"
    assert (ran.code, ran.out) == (0, f"{path}\n")
    assert path.read_bytes() == FILES["report.html"]
    assert browser == [path.as_uri()]

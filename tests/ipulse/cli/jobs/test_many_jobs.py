"""priority, cancel and delete: one job, or all that pass filters, after a question."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest

from ipulse.cli.commands.jobs import lifecycle, many_jobs
from ipulse.cli.commands.jobs.many_jobs import Change, FilteredJobs
from ipulse.client import Connection, JobHandle, JobSelection
from ipulse_core.errors import Conflict
from ipulse_core.states import JobState
from tests.ipulse.cli.conftest import FILES, SPEC, Ran, Run, environment
from tests.ipulse.live_service import Agent, LiveService


@pytest.fixture
def team(client: Connection) -> Iterator[str]:
    """A label that no other test uses; its jobs are cancelled at the end."""
    label = f"team={secrets.token_hex(8)}"
    yield label
    client.change_all("cancel", JobSelection(labels=[label]))


def submit(client: Connection, team: str, count: int = 1) -> list[str]:
    metadata = {"team": team.partition("=")[2]}
    return [client.submit({**SPEC, "metadata": metadata}).id for _ in range(count)]


def states(client: Connection, jobs: list[str]) -> list[JobState]:
    return [client.job(job).state for job in jobs]


def asked(service: LiveService, answer: str, *arguments: str) -> Ran:
    """A command on a terminal with the answer of its user."""
    master, slave = os.openpty()
    try:
        os.write(master, f"{answer}\n".encode())
        done = subprocess.run(
            [sys.executable, "-m", "ipulse", *arguments],
            stdin=slave,
            capture_output=True,
            text=True,
            env=environment(IPULSE_HOME=str(service.home)),
            timeout=120,
            check=False,
        )
    finally:
        os.close(slave)
        os.close(master)
    return Ran(done.returncode, done.stdout, done.stderr)


class TestCancel:
    def test_a_dry_run_counts_and_changes_nothing(
        self, run: Run, client: Connection, team: str
    ) -> None:
        jobs = submit(client, team, 2)
        client.job(jobs[0]).cancel()
        counted = run("cancel", "--label", team, "--dry-run", "--json").json
        assert counted["by_state"] == {"cancelled": 1, "queued": 1}
        shown = run("cancel", "--label", team, "--dry-run").out
        assert "1 of 2 jobs" in shown
        assert "1 cancelled, 1 queued" in shown
        assert run("delete", "--label", team, "--dry-run", "--json").json["changeable"] == 1
        assert client.job(jobs[1]).state is JobState.QUEUED

    def test_all_that_pass_the_filters_are_cancelled(
        self, run: Run, client: Connection, team: str
    ) -> None:
        jobs = submit(client, team, 3)
        client.job(jobs[0]).cancel()
        ran = run("cancel", "--label", team, "--state", "queued", "--yes")
        assert ran.code == 0
        assert ran.out.split()[0] == "2"
        assert set(states(client, jobs)) == {JobState.CANCELLED}

    def test_the_question_can_be_answered_with_no(
        self, service: LiveService, client: Connection, team: str
    ) -> None:
        jobs = submit(client, team)
        ran = asked(service, "n", "cancel", "--label", team)
        assert (ran.code, ran.out) == (130, "")
        assert "1 queued" in ran.err
        assert states(client, jobs) == [JobState.QUEUED]

    def test_after_a_yes_only_what_was_counted_is_cancelled(
        self, service: LiveService, client: Connection, team: str
    ) -> None:
        jobs = submit(client, team, 2)
        ran = asked(service, "y", "cancel", "--label", team, "--json")
        assert ran.code == 0
        assert ran.json["changed"] == 2
        assert set(states(client, jobs)) == {JobState.CANCELLED}

    def test_nobody_to_ask_is_an_error(self, run: Run, client: Connection, team: str) -> None:
        jobs = submit(client, team)
        ran = run("cancel", "--label", team)
        assert ran.code == 2
        assert "--yes" in ran.err
        assert states(client, jobs) == [JobState.QUEUED]

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("--yes",),
            ("job_1", "--state", "queued"),
            ("job_1", "--all"),
            ("--created-before", "yesterday"),
            ("--state", "over", "--yes"),
            ("--label", "x", "--yes"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, run: Run, arguments: tuple[str, ...]) -> None:
        for command in ("cancel", "delete"):
            ran = run(command, *arguments)
            assert ran.code == 2
            assert ran.err


class TestDeleteFound:
    def test_no_question_where_no_job_allows_it(
        self, run: Run, client: Connection, team: str
    ) -> None:
        jobs = submit(client, team)
        done = run("delete", "--label", team, "--json")
        assert (done.code, done.json["changed"], done.json["unchanged"]) == (0, 0, 1)
        assert states(client, jobs) == [JobState.QUEUED]

    def test_a_job_that_ends_after_the_question_stays(
        self, client: Connection, team: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        over, queued = submit(client, team, 2)
        client.job(over).cancel()
        questions = []

        def answer(verb: str, what: str, yes: bool) -> None:
            questions.append((verb, what.split(" (")[0], yes))
            client.job(queued).cancel()

        monkeypatch.setattr(many_jobs, "confirm", answer)
        deleting = Change("delete", "deleted", partial(client.change_all, "delete"))
        chosen = FilteredJobs(label=[team])
        result = chosen.changed(JobSelection(labels=[team]), deleting)
        assert questions == [("delete", "1 of 2 jobs", False)]
        assert (result.changed, client.job(queued).state) == (1, JobState.CANCELLED)


class TestChosenJobs:
    def test_several_ids(self, run: Run, client: Connection, team: str) -> None:
        jobs = submit(client, team, 3)
        paused = run("pause", *jobs[:2], "--json").json["jobs"]
        assert [job["state"] for job in paused] == ["paused", "paused"]
        assert len(run("resume", jobs[0], jobs[1]).out.splitlines()) == 2
        assert run("cancel", *jobs, "--json").json["jobs"][2]["state"] == "cancelled"
        deleted = run("delete", jobs[0], jobs[2], jobs[0], "--yes").out.splitlines()
        assert [line.split()[1] for line in deleted] == [jobs[0], jobs[2]]

    def test_a_job_that_is_being_paused_is_resumed_when_it_has_stopped(
        self,
        run: Run,
        client: Connection,
        agent: Agent,
        team: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        [job] = submit(client, team)
        attempt = agent.claim(job)
        assert run("pause", job, "--json").json["state"] == "pausing"
        said = []

        def stops(text: str) -> None:
            said.append(text)
            attempt.finish("paused_by_user")

        monkeypatch.setattr(lifecycle, "say", stops)
        assert run("resume", job, "--json").json["state"] == "queued"
        assert job in said[0]

    def test_a_paused_job_that_may_not_be_resumed_is_refused(
        self, run: Run, client: Connection, team: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        [job] = submit(client, team)
        run("pause", job)
        refusals = []

        def refuse(job: JobHandle) -> JobHandle:
            refusals.append(job.id)
            raise Conflict("its project has as many queued jobs as it may have")

        monkeypatch.setattr(JobHandle, "resume", refuse)
        assert run("resume", job).code == 7
        assert refusals == [job, job]

    def test_failed_jobs_are_retried(
        self, run: Run, client: Connection, agent: Agent, team: str
    ) -> None:
        jobs = submit(client, team, 3)
        for job_id in jobs[:2]:
            agent.claim(job_id).finish("diverged", "no finite loss")
        assert run("retry", jobs[0], "--json").json["state"] == "queued"
        client.job(jobs[2]).cancel()
        refused = run("retry", jobs[2])
        assert refused.code == 7
        assert "clone" in refused.err
        query = f"label.team:{team.partition('=')[2]}"
        assert "1 failed" in run("retry", "-q", query, "--dry-run").out
        assert run("retry", "-q", query).out.split()[:3] == ["1", "job", "retried,"]
        assert states(client, jobs[:2]) == [JobState.QUEUED] * 2

    def test_a_query(self, run: Run, client: Connection, team: str) -> None:
        jobs = submit(client, team, 3)
        client.job(jobs[2]).cancel()
        query = f"label.team:{team.partition('=')[2]}"
        counted = run("pause", "-q", query, "--dry-run")
        assert "1 cancelled, 2 queued" in counted.out
        assert run("pause", "-q", query, "--json").json["changed"] == 2
        assert states(client, jobs[:2]) == [JobState.PAUSED] * 2
        edited = run("edit", "-q", query, "--tag", "t", "--group", "g", "--priority", "3")
        assert edited.out.split() == ["2", "jobs", "changed,", "1", "left", "unchanged"]
        assert client.job(jobs[0]).json["tags"] == ["t"]
        assert client.job(jobs[2]).json["group"] is None, "all of its changes, or none"
        assert run("resume", "-q", f"{query} tag:t", "--json").json["changed"] == 2
        assert run("cancel", "-q", f"{query} state:queued", "--yes").out.split()[0] == "2"
        assert run("delete", "-q", query, "--yes", "--json").json["changed"] == 3
        assert run("pause", "-q", query).out.startswith("0 jobs")

    @pytest.mark.parametrize(
        "arguments",
        [
            ("pause",),
            ("pause", "job_1", "-q", "a"),
            ("resume", "job_1", "--dry-run"),
            ("edit", "-q", "a", "--name", "x"),
            ("edit", "-q", "a", "--note", "x"),
            ("edit", "-q", "state:over", "--tag", "x"),
            ("cancel", "job_1", "-q", "a"),
            ("delete", "-q", "state:", "--yes"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, run: Run, arguments: tuple[str, ...]) -> None:
        ran = run(*arguments)
        assert ran.code == 2
        assert ran.err


class TestDelete:
    @pytest.mark.parametrize(("answer", "code"), [("n", 130), ("", 130), ("y", 0)])
    def test_a_person_is_asked(
        self, service: LiveService, client: Connection, answer: str, code: int
    ) -> None:
        job_id = client.submit(SPEC).cancel().id
        ran = asked(service, answer, "delete", job_id)
        assert ran.code == code
        assert job_id in ran.err
        assert (ran.out == "") == bool(code)
        assert (code == 0) == (job_id not in [job.id for job in client.jobs()])

    def test_it_says_what_it_deleted(self, run: Run, client: Connection, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, [])
        size = sum(file.size for file in client.job(job.id).artifacts())
        ran = run("delete", job.id, "--yes")
        assert ran.code == 0
        assert {job.id, "small", str(size)} <= set(ran.out.replace(",", "").split())
        assert run("status", job.id).code == 3

    def test_only_what_has_ended_is_deleted(self, run: Run, client: Connection, team: str) -> None:
        jobs = submit(client, team, 3)
        for job in jobs[:2]:
            client.job(job).cancel()
        result = run("delete", "--label", team, "--yes", "--json").json
        assert (result["changed"], result["unchanged"]) == (2, 1)
        assert run("status", jobs[0]).code == 3
        assert states(client, jobs[2:]) == [JobState.QUEUED]

    def test_old_jobs(self, run: Run, client: Connection, team: str) -> None:
        [job] = submit(client, team)
        client.job(job).cancel()
        day_before = (client.job(job).created_at - timedelta(days=1)).isoformat()
        before = ("delete", "--label", team, "--created-before", day_before, "--yes", "--json")
        after = ("delete", "--label", team, "--created-after", day_before, "--yes", "--json")
        assert run(*before).json["matched"] == 0
        assert run(*after).json["changed"] == 1


class TestPriority:
    @pytest.mark.parametrize("priority", [10, -7])
    def test_it_changes(self, run: Run, client: Connection, team: str, priority: int) -> None:
        [job] = submit(client, team)
        assert run("edit", job, "--priority", str(priority)).code == 0
        assert client.job(job).json["priority"] == priority
        assert str(priority) in run("status", job).out

    def test_what_is_none_is_refused(self, run: Run, client: Connection, team: str) -> None:
        [job] = submit(client, team)
        for wrong in ("101", "-101", "high", "--high", "1.5"):
            assert run("edit", job, "--priority", wrong).code == 2
        client.job(job).cancel()
        assert run("edit", job, "--priority", "1").code == 7
        assert run("edit", "job_0", "--priority", "1").code == 3

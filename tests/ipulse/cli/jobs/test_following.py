"""watch and logs, to the end of the job or of the reader's patience."""

from __future__ import annotations

import signal
from pathlib import Path

from ipulse.client import Connection
from tests.ipulse.cli.conftest import FILES, SPEC, Run, started
from tests.ipulse.live_service import Agent, LiveService


class TestWatch:
    def test_a_job_that_succeeds(self, run: Run, client: Connection, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["a line", "another"])
        ran = run("watch", job.id)
        assert (ran.code, ran.err) == (0, "")
        assert "accuracy 50.0 %" in ran.out
        assert ran.out.splitlines()[-1] == "succeeded: test accuracy 97.5 %"

    def test_json_is_the_events_and_then_the_job(
        self, run: Run, client: Connection, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, [])
        ran = run("watch", job.id, "--json")
        *events, last = ran.lines
        assert ran.code == 0
        assert events == [event.json for event in client.job(job.id).events()]
        assert last == client.job(job.id).json

    def test_a_job_that_fails(self, run: Run, client: Connection, agent: Agent) -> None:
        job = client.submit(SPEC)
        attempt = agent.claim(job.id)
        attempt.report({"kind": "phase", "phase": "prepare"})
        attempt.finish("diverged", "the loss is no number at step 7")
        ran = run("watch", job.id)
        assert ran.code == 1
        assert "failed (diverged)" in ran.out.splitlines()[-1]
        assert ran.out.count("no number at step 7") == 1

    def test_a_cancelled_job(self, run: Run, client: Connection) -> None:
        job = client.submit(SPEC)
        client.job(job.id).cancel()
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
        assert "succeeded: test accuracy 97.5 %" in out

    def test_a_queued_job_says_what_it_waits_for(
        self, service: LiveService, client: Connection, agent: Agent
    ) -> None:
        first, second = client.submit(SPEC), client.submit(SPEC)
        running = started("watch", second.id, IPULSE_HOME=str(service.home))
        assert running.stdout is not None
        waits = next(line for line in running.stdout if line.startswith("waits for"))
        assert "in the queue" in waits
        agent.claim(first.id).run(FILES, [])
        agent.claim(second.id).run(FILES, [])
        out, err = running.communicate(timeout=60)
        assert (running.returncode, err) == (0, "")
        assert out.splitlines()[-1].startswith("succeeded")

    def test_ctrl_c_detaches_and_the_job_keeps_running(
        self, service: LiveService, client: Connection, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        attempt = agent.claim(job.id)
        attempt.report({"kind": "phase", "phase": "prepare"})
        running = started("watch", job.id, IPULSE_HOME=str(service.home))
        assert running.stdout is not None
        assert "queued" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 130
        assert "the job keeps running" in err
        assert f"ipulse cancel {job.id}" in err
        assert "Traceback" not in err
        assert client.job(job.id).state.value == "preparing"


class TestLogs:
    def test_the_lines_of_the_job(self, run: Run, client: Connection, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["first", "second \u2028 [bold]x[/bold]", "a\tb"])
        ran = run("logs", job.id)
        assert ran.code == 0
        assert ran.out.splitlines() == ["first", "second \\u2028 [bold]x[/bold]", "a    b"]

    def test_json_is_an_event_a_line(self, run: Run, client: Connection, agent: Agent) -> None:
        job = client.submit(SPEC)
        agent.claim(job.id).run(FILES, ["first", "second"])
        ran = run("logs", job.id, "--json")
        assert [event["message"] for event in ran.lines] == ["first", "second"]

    def test_following_until_the_end(
        self, service: LiveService, client: Connection, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        running = started("logs", job.id, "--follow", IPULSE_HOME=str(service.home))
        attempt = agent.claim(job.id)
        attempt.report({"kind": "phase", "phase": "prepare"}, {"kind": "log", "message": "early"})
        assert running.stdout is not None
        assert running.stdout.readline() == "early\n"
        attempt.report({"kind": "log", "message": "late"})
        assert running.stdout.readline() == "late\n"
        attempt.finish("runner_error", "because")
        out, err = running.communicate(timeout=60)
        assert (running.returncode, out, err) == (0, "runner_error: because\n", "")

    def test_a_reader_that_leaves_is_no_error(
        self, service: LiveService, client: Connection, agent: Agent
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

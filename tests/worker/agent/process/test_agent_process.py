"""The agent as a process (`python -m ipulse_worker.agent`), with a real Redis and signals."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path

import psutil

from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from ipulse_core.states import JobState
from ipulse_worker.agent import niceness
from tests.worker.agent.attempts import logged_pid
from tests.worker.agent.fake_service import FakeService
from tests.worker.agent.process.agent_process import (
    QUEUE,
    AgentProcess,
    agent_process,
    client_of,
    kill_and_restart,
    publish,
)
from tests.worker.agent.process.agent_process import agent as agent
from tests.worker.agent.process.agent_process import lasting_agent as lasting_agent
from tests.worker.agent.process.agent_process import redis as redis
from tests.worker.agent.process.agent_process import service as service
from tests.worker.disks import fill, small_disk

# Messages that anyone with access to the broker could send.
NO_MESSAGES = [
    b"\x80\x04 no JSON",
    b"[1, 2]",
    b'{"no": "message"}',
    b"[" * 100_000,
    json.dumps(
        {
            "body": "not base64",
            "headers": {"task": messages.TASK, "id": "x"},
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "properties": {"delivery_tag": "1", "body_encoding": "base64", "delivery_info": {}},
        }
    ).encode(),
    *(
        json.dumps(
            {
                "body": base64.b64encode(body).decode(),
                "headers": {"task": messages.TASK, "id": "x"},
                "content-type": "application/json",
                "content-encoding": "utf-8",
                "properties": {"delivery_tag": "1", "body_encoding": "base64", "delivery_info": {}},
            }
        ).encode()
        for body in (b'[["x"], {}, 5]', b'[["x"], [], {}]', b'[["x"], {}, {"chain": [1]}]')
    ),
]


def test_its_niceness_holds_for_its_session_and_its_runners(
    service: FakeService, redis: RedisServer, tmp_path: Path
) -> None:
    with agent_process(service, redis, tmp_path / "work", IPULSE_NICE="7") as agent:
        assert agent.is_ready
        pid, nice = agent.process.pid, os.nice(0) + 7
        assert os.getpriority(os.PRIO_PROCESS, pid) == nice
        if niceness.GROUP.exists():
            assert f"nice {nice}\n" in Path(f"/proc/{pid}/autogroup").read_text()
        below = psutil.Process(pid).children(recursive=True)
        assert below, "the guardian of the first runner, at least"
        for process in below:
            assert os.getpriority(os.PRIO_PROCESS, process.pid) == nice
            assert os.getsid(process.pid) == pid
        assert agent.stop() == 0


def test_wake_ups_for_a_device_in_quarantine_are_left_to_others(
    service: FakeService, redis: RedisServer, agent: AgentProcess, tmp_path: Path
) -> None:
    broken = service.submit("ends_with", reason="unrecoverable")
    publish(redis, broken)
    agent.wait_for_action("attempt_ended")
    lines = service.job(broken).last.messages("agent")
    assert any("does not use its cpu until it is restarted" in line for line in lines)
    job_id = service.submit("completes")
    publish(redis, job_id, queue=messages.queue_of("emulator"))  # of the same agent
    publish(redis, job_id)
    agent.wait_for_action("nothing_to_do")
    with client_of(redis) as client:
        assert client.llen(QUEUE) == 1
    assert service.job(job_id).attempts == []
    with agent_process(service, redis, tmp_path / "other"):
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)


def test_wake_ups_of_a_machine_without_room_are_left_to_others(
    service: FakeService, redis: RedisServer, tmp_path: Path
) -> None:
    """An idle agent finds out by itself that its disk is full, and that it has room again."""
    with small_disk(tmp_path / "disk", "size=64m,mode=0700") as disk, agent_process(
        service, redis, disk
    ) as agent:
        filler = fill(disk)
        agent.wait_for_action("takes_no_jobs")
        agent.wait_for_action("queue_left_to_others", times=2)  # cpu and emulator
        job_id = service.submit("completes")
        publish(redis, job_id)  # may still be received by a request that was on its way
        publish(redis, job_id)
        with client_of(redis) as client:
            assert client.llen(QUEUE) in (1, 2)
        assert service.job(job_id).attempts == []
        filler.unlink()
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
        agent.wait_for_action("takes_jobs_again")
        assert agent.stop() == 0


class TestMessages:
    def test_a_job_id_is_all_it_takes(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)

    def test_the_message_is_gone_while_the_job_runs_and_the_next_one_waits_for_any_agent(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess, tmp_path: Path
    ) -> None:
        first, second = service.submit("trains_until_released"), service.submit("completes")
        publish(redis, first)
        logged_pid(service, first, "pid")
        with client_of(redis) as client:
            assert client.hlen("unacked") == 0
            publish(redis, second)
            assert client.llen(QUEUE) == 1
        with agent_process(service, redis, tmp_path / "work"):
            service.wait_for(lambda: service.job(second).state is JobState.SUCCEEDED)
        service.cancel(first)
        service.wait_for(lambda: service.job(first).state is JobState.CANCELLED)

    def test_the_same_message_ten_times_is_one_attempt(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes")
        before = lasting_agent.count("nothing_to_do")
        for _ in range(10):
            publish(redis, job_id)
        lasting_agent.wait_for_action("nothing_to_do", times=before + 9)
        assert len(service.job(job_id).attempts) == 1

    def test_messages_of_others_are_dropped_and_the_next_is_taken(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        publish(redis, "x" * 1_000_000)
        publish(redis, task="somebody.elses.task")
        publish(redis, task="celery.chain")
        publish(redis, "job_1", serializer="pickle")
        with client_of(redis) as client:
            for junk in NO_MESSAGES:
                client.lpush(QUEUE, junk)
        job_id = service.submit("completes")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
        lasting_agent.wait_for_action("message_rejected")
        assert lasting_agent.process.poll() is None

    def test_no_secret_is_logged(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes")
        publish(redis, job_id)
        lasting_agent.wait_for_end_of(job_id)
        logged = json.dumps(lasting_agent.lines)
        assert job_id in logged
        assert service.token not in logged
        assert service.job(job_id).last.fence not in logged


class TestBroker:
    def test_it_reconnects_after_redis_was_killed(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        """Kill Redis several times, also right after a job.

        An acknowledgement that fails with the broker must not count as an unfinished message.
        """
        job_ids = [service.submit("completes") for _ in range(4)]
        for job_id in job_ids:
            kill_and_restart(redis)
            publish(redis, job_id)
            lasting_agent.wait_for_end_of(job_id)
        assert {service.job(job_id).state for job_id in job_ids} == {JobState.SUCCEEDED}

    def test_a_running_job_is_not_affected(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        job_id = service.submit("completes_when_released")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.RUNNING)
        kill_and_restart(redis)
        service.cancel(job_id)  # the scripted runner completes when it is stopped
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
        following = service.submit("completes")
        publish(redis, following)
        service.wait_for(lambda: service.job(following).state is JobState.SUCCEEDED)

    def test_an_error_that_redis_answers_is_waited_out(
        self, service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
    ) -> None:
        lost = "consumer: Connection to broker lost"
        before = lasting_agent.count(lost)
        with client_of(redis) as client:
            client.set(QUEUE, "not a list")
            lasting_agent.wait_for_action(lost, times=before + 2)
            client.delete(QUEUE)
        job_id = service.submit("completes")
        publish(redis, job_id)
        service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)

    def test_it_may_start_before_redis(
        self, service: FakeService, redis: RedisServer, tmp_path: Path
    ) -> None:
        redis.stop()
        late = threading.Timer(1.0, redis.start)
        late.start()
        with agent_process(service, redis, tmp_path / "work") as agent:
            late.join()
            assert agent.is_ready

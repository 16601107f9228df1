"""Operators see and command a running agent with Celery's own tools."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery import Celery
from redis.exceptions import NoPermissionError

from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer
from ipulse_core import messages
from ipulse_core.states import JobState
from ipulse_worker.agent.celery_app import HEARTBEAT_SECONDS
from tests.service.conditions import eventually
from tests.worker.agent.attempts import logged_pid
from tests.worker.agent.fake_rules import DEADLINE
from tests.worker.agent.fake_service import FakeService
from tests.worker.agent.process.agent_process import (
    QUEUE,
    AgentProcess,
    agent_process,
    client_of,
    kill_and_restart,
    publish,
)
from tests.worker.agent.process.agent_process import lasting_agent as lasting_agent
from tests.worker.agent.process.agent_process import redis as redis
from tests.worker.agent.process.agent_process import service as service

ROOT = Path(__file__).parents[4]

# A message of the service of version 0.1.
MESSAGE_OF_0_1 = {
    "body": "W1siSk9CX0lEIl0sIHt9LCB7ImNhbGxiYWNrcyI6IG51bGwsICJlcnJiYWNrcyI6IG51bGwsICJjaGFpbiI6"
    "IG51bGwsICJjaG9yZCI6IG51bGx9XQ==",
    "content-encoding": "utf-8",
    "content-type": "application/json",
    "headers": {
        "lang": "py",
        "task": messages.TASK,
        "id": "6f9c",
        "root_id": "6f9c",
        "parent_id": None,
        "group": None,
        "argsrepr": "('JOB_ID',)",
        "kwargsrepr": "{}",
        "ignore_result": True,
    },
    "properties": {
        "correlation_id": "6f9c",
        "reply_to": "",
        "body_encoding": "base64",
        "delivery_info": {"exchange": "", "routing_key": QUEUE},
        "delivery_tag": "7a1d",
        "priority": 0,
    },
}


def inspect(redis: RedisServer, agent: AgentProcess, method: str) -> Any:
    """Runs `celery inspect` as an operator does, and returns the agent's reply."""
    name = f"agent@{socket.gethostname()}-{agent.process.pid}"
    command = [sys.executable, "-m", "celery", "-A", "ipulse_worker.agent.celery_app"]
    ran = subprocess.run(
        [*command, "inspect", method, "--json", "--timeout", str(DEADLINE), "-d", name],
        cwd=ROOT,
        env={**os.environ, "IPULSE_BROKER_URL": redis.url},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[0])[name]


def test_agents_answer_celery_inspect_while_they_work(
    service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
) -> None:
    job_id = service.submit("trains_until_released")
    publish(redis, job_id)
    logged_pid(service, job_id, "pid")
    assert inspect(redis, lasting_agent, "ping") == {"ok": "pong"}
    assert inspect(redis, lasting_agent, "stats")["pool"]["max-concurrency"] == 1
    assert inspect(redis, lasting_agent, "registered") == [messages.TASK]
    active = inspect(redis, lasting_agent, "active")
    assert [task["args"] for task in active] == [[job_id]]
    service.cancel(job_id)
    service.wait_for(lambda: service.job(job_id).state is JobState.CANCELLED)


@pytest.mark.verify  # waits for a heartbeat, for up to half a minute
def test_agents_send_the_events_that_flower_shows(
    service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
) -> None:
    job_id = service.submit("completes")
    seen: list[dict[str, Any]] = []
    with Celery(broker=redis.url, set_as_current=False) as celery:

        def receive() -> None:
            with celery.connection_for_read() as connection:
                receiver = celery.events.Receiver(connection)

                def note(event: dict[str, Any]) -> None:
                    seen.append(event)
                    receiver.should_stop = event["type"] == "task-succeeded"

                receiver.handlers["*"] = note
                receiver.capture(limit=None, timeout=4 * HEARTBEAT_SECONDS, wakeup=True)

        receiving = threading.Thread(target=receive)
        receiving.start()
        eventually(
            lambda: any(event["type"] == "worker-heartbeat" for event in seen),
            seconds=3 * HEARTBEAT_SECONDS,
        )
        publish(redis, job_id)
        receiving.join(DEADLINE)
    assert "task-succeeded" in {event["type"] for event in seen}
    received = next(event for event in seen if event["type"] == "task-received")
    assert job_id in received["args"]


def test_a_message_of_version_0_1_is_a_wake_up(
    service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
) -> None:
    job_id = service.submit("completes")
    body = json.dumps([[job_id], {}, {"callbacks": None, "errbacks": None}])
    encoded = {**MESSAGE_OF_0_1, "body": body, "properties": dict(MESSAGE_OF_0_1["properties"])}
    del encoded["properties"]["body_encoding"]
    with client_of(redis) as client:
        client.lpush(QUEUE, json.dumps(MESSAGE_OF_0_1))  # of a job that does not exist any more
        client.lpush(QUEUE, json.dumps(encoded))
    service.wait_for(lambda: service.job(job_id).state is JobState.SUCCEEDED)
    assert lasting_agent.process.poll() is None


def test_a_busy_agent_that_reconnects_leaves_messages_to_others(
    service: FakeService, redis: RedisServer, lasting_agent: AgentProcess
) -> None:
    busy, waits = service.submit("trains_until_released"), service.submit("completes")
    publish(redis, busy)
    logged_pid(service, busy, "pid")
    for _ in range(2):
        kill_and_restart(redis)
        assert inspect(redis, lasting_agent, "ping") == {"ok": "pong"}  # it has reconnected
    publish(redis, waits)
    inspect(redis, lasting_agent, "ping")  # its loop has run since
    with client_of(redis) as client:
        assert client.llen(QUEUE) == 1
    service.cancel(busy)
    service.wait_for(lambda: service.job(waits).state is JobState.SUCCEEDED)


def access_list() -> list[str]:
    """Return the ACL rules of the broker's user in docker-compose.yml."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    script = compose["services"]["redis"]["command"][-1]
    match = re.search(r'"user default on >\S+ \S+ (resetkeys [^"]+)"', script)
    assert match is not None
    return match.group(1).split()


@pytest.fixture
def restricted_redis(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir(mode=0o700)
    server = RedisServer(folder, ProgramLog(tmp_path / "redis.log"))
    server.start()
    with client_of(server) as client:
        client.execute_command("ACL", "SETUSER", "default", "-@all", *access_list())
    yield server
    server.stop()


def test_the_access_list_of_the_compose_file_allows_what_celery_needs(
    service: FakeService, restricted_redis: RedisServer, tmp_path: Path
) -> None:
    with agent_process(service, restricted_redis, tmp_path / "work") as agent:
        assert agent.is_ready
        job_id = service.submit("completes")
        publish(restricted_redis, job_id)
        agent.wait_for_end_of(job_id)
        assert inspect(restricted_redis, agent, "ping") == {"ok": "pong"}
        assert agent.stop() == 0
        assert agent.count("consumer: Connection to broker lost") == 0
    with client_of(restricted_redis) as client:
        for command in (["FLUSHALL"], ["CONFIG", "GET", "*"], ["SET", "another", "key"]):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command)

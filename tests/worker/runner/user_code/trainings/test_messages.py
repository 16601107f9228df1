"""Forged messages of a confined training change nothing of other jobs."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest

from ipulse_core.events import ArtifactEvent, CheckpointEvent, DoneEvent, LogEvent
from ipulse_core.states import POLICIES, Policy, Reason
from ipulse_worker.runner.user_code.budget import MAX_FILES, MAX_LINE_BYTES
from ipulse_worker.runner.user_code.protocol import BadMessage, Incoming, Message, Outgoing
from ipulse_worker.runner.user_code.trainings.messages import (
    ReceivedFile,
    ReceivedFiles,
    SentEvents,
)
from ipulse_worker.runner.user_code.trainings.relay import EventFilter, Pace
from ipulse_worker.runner.user_code.trainings.rules import named_files

LIMIT = 1000


def line(**message: Any) -> bytes:
    return (json.dumps(message) + "\n").encode()


def parsed(message: Dict[str, Any]) -> Message:
    """Return a message as it is read."""
    data = line(**message)

    def receive(view: memoryview) -> int:
        view[: len(data)] = data
        return len(data)

    return Incoming(receive).message()


def received(directory: Path, data: bytes, size: int = 7) -> List[Any]:
    """Read data in small parts, as they may arrive."""
    left = memoryview(data)

    def receive(view: memoryview) -> int:
        nonlocal left
        if not left:
            raise EOFError
        part = left[: min(size, len(view))]
        view[: len(part)] = part
        left = left[len(part) :]
        return len(part)

    incoming, files, found = Incoming(receive), ReceivedFiles(directory, LIMIT), []
    with suppress(EOFError):
        while True:
            message = incoming.message()
            is_file = message.kind == "file"
            chunks = incoming.chunks(message.size)
            found.append(files.store(message, chunks) if is_file else message)
    return found


@pytest.mark.old_python
def test_files_arrive_before_the_events_that_name_them(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (inside / "weights.npz").write_bytes(b"\n{}\n" * 100)
    (inside / "empty.txt").write_bytes(b"")
    reads, writes = os.pipe()
    writer = SentEvents(Outgoing(writes), inside)
    threads = [
        threading.Thread(target=writer.write, args=(event,))
        for event in (
            ArtifactEvent("weights.npz", "weights"),
            ArtifactEvent("empty.txt", "output"),
            LogEvent("between"),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(writes)
    with os.fdopen(reads, "rb") as stream:
        messages = received(outside, stream.read(), 11)
    events = EventFilter()
    passed = []
    for message in messages:
        if isinstance(message, ReceivedFile):
            events.add(message)
        else:
            passed.append(events.event_of(message))
    assert {event.kind for event in passed} == {"artifact", "log"}
    assert len(passed) == 3
    assert (outside / "weights.npz").read_bytes() == b"\n{}\n" * 100
    assert (outside / "empty.txt").read_bytes() == b""


@pytest.mark.old_python
@pytest.mark.parametrize(
    "data",
    [
        b"no json\n",
        b"[1]\n",
        line(path="a"),
        line(kind=["file"], path="a", bytes=1),
        line(kind="log", message="a", bytes=-1),
        b"[" * 100_000 + b"\n",
        line(kind="file", path="../token", bytes=1),
        line(kind="file", path="/etc/passwd", bytes=1),
        line(kind="file", path=".hidden", bytes=1),
        line(kind="file", path="a/b", bytes=1),
        line(kind="file", path="a\nb", bytes=1),
        line(kind="file", path="a\n", bytes=1),
        line(kind="file", path=3, bytes=1),
        line(kind="file", path="a", bytes=-1),
        line(kind="file", path="a", bytes=True),
        line(kind="file", path="a", bytes=LIMIT + 1),
        line(kind="file", path="a", bytes=LIMIT)
        + b"x" * LIMIT
        + line(kind="file", path="b", bytes=1),
        b"".join(line(kind="file", path=f"f{n}", bytes=0) for n in range(MAX_FILES + 1)),
        b"x" * (MAX_LINE_BYTES + 1),
    ],
    ids=str,
)
def test_a_forged_message_ends_the_training(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadMessage):
        received(tmp_path, data, 100_000)
    names = [path.name for path in tmp_path.rglob("*") if not path.name.endswith(".unfinished")]
    assert set(names) <= {"a", *(f"f{n}" for n in range(MAX_FILES))}


def test_a_file_with_the_name_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with pytest.raises(BadMessage, match="scratch"):
        received(tmp_path, line(kind="file", path="scratch", bytes=0))


def test_a_flood_of_events_is_slowed_down() -> None:
    pace = Pace(per_second=100, burst=20)
    begun = time.monotonic()
    for _ in range(45):
        pace.wait()
    assert time.monotonic() - begun > 0.2  # 25 more than at once


def test_only_data_that_the_spec_names_is_shown(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("a.b.npz", "a.b", "a.b.c.npz", "a", "others.npz", "start.npz"):
        (data / name).mkdir(parents=True)
    (data / "a.b.h5").symlink_to(tmp_path)
    initial = SimpleNamespace(file="start.npz")

    def shown(environment: Dict[str, str], **fields: Any) -> List[str]:
        network = SimpleNamespace(initial=initial)
        spec: Any = SimpleNamespace(data=SimpleNamespace(name="a.b", **fields), network=network)
        return [path.name for path in named_files(spec, environment)]

    environment = {"IPULSE_DATA": str(data)}
    assert shown(environment) == ["a.b", "a.b.npz", "start.npz"]
    assert shown(environment, dataset="sha256:0") == ["start.npz"]
    assert shown({}) == []


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Only this process writes there, so that there is none; it would not matter."""
    target = tmp_path / "target"
    target.write_text("as before")
    (tmp_path / "weights.npz").symlink_to(target)
    messages = received(tmp_path, line(kind="file", path="weights.npz", bytes=3) + b"new")
    assert messages == [ReceivedFile("weights.npz")]
    assert target.read_text() == "as before"
    assert (tmp_path / "weights.npz").read_text() == "new"


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "ready", "python": "3", "tensorflow": "2", "import_seconds": 0.0},
        {"kind": "nothing"},
        {"kind": "artifact", "path": "manifest.json", "role": "manifest"},
        {"kind": "checkpoint", "path": "checkpoint.npz", "epoch": 1, "step": 1},
        {"kind": "log", "text": "x"},
        {"kind": "log", "message": "x", "bytes": 1},
    ],
    ids=lambda message: str(message["kind"]),
)
def test_events_that_it_may_not_cause_are_refused(message: Dict[str, Any]) -> None:
    with pytest.raises(BadMessage):
        EventFilter().event_of(parsed(message))


def test_an_event_names_a_file_that_was_sent(tmp_path: Path) -> None:
    events = EventFilter()
    events.add(ReceivedFile("checkpoint.npz"))
    message = {"kind": "checkpoint", "path": "checkpoint.npz", "epoch": 1, "step": 2}
    assert events.event_of(parsed(message)) == CheckpointEvent("checkpoint.npz", 1, 2)


@pytest.mark.parametrize("reason", [*Reason, "invented"], ids=str)
def test_no_outcome_takes_the_worker_from_others(reason: Any) -> None:
    value = getattr(reason, "value", reason)
    message = {"kind": "done", "reason": value, "message": "a\x1bb", "summary": {}}
    done = EventFilter().event_of(parsed(message))
    assert isinstance(done, DoneEvent)
    policy = POLICIES.get(Reason(done.reason), Policy.FAIL)
    assert policy in (Policy.FAIL, Policy.RETRY_HERE)
    assert "\x1b" not in done.message
    if policy is Policy.RETRY_HERE:
        assert done.reason == Reason.IPU_RESET.value


def test_log_lines_have_no_control_characters() -> None:
    forged = {"kind": "log", "message": "a\x1b[2Jb\nc", "stream": "service"}
    event = EventFilter().event_of(parsed(forged))
    assert isinstance(event, LogEvent)
    assert event.stream == "runner"
    assert "\x1b" not in event.message
    assert "\n" not in event.message

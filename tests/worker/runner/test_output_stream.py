"""Printed lines are in the log in the order in which they were printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any, List

import pytest

from ipulse_core.events import MAX_LINE

pytestmark = pytest.mark.old_python

# Prints in turn to both streams and the log, from several threads, and ends without a newline.
PROGRAM = """
import sys, threading
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.output_stream import end_output, redirect_output

events = EventWriter(int(sys.argv[1]))
redirect_output(events)
for number in range(300):
    print("out", number)
    print("err", number, file=sys.stderr)
    events.log(f"log {number}")
threads = [
    threading.Thread(target=lambda: [sys.stdout.write("x" * 5000 + "\\n") for _ in range(50)])
    for _ in range(4)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("colour \\x1b[31mred\\x1b[0m and \\x07 bell")
print("y" * 40_000)
print("the end", end="", flush=True)
end_output()
"""


def run(program: str) -> List[Any]:
    """Run a program that gets the descriptor of a pipe, and return the events in the pipe."""
    reader, writer = os.pipe()
    content: List[bytes] = []

    def read() -> None:
        while True:
            data = os.read(reader, 65_536)
            if not data:
                return
            content.append(data)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    command = [sys.executable, "-c", program, str(writer)]
    finished = subprocess.run(command, pass_fds=(writer,), capture_output=True)
    os.close(writer)
    reading.join()
    os.close(reader)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"", b"")
    return [json.loads(line) for line in b"".join(content).splitlines()]


def test_lines_are_events_in_order() -> None:
    events = run(PROGRAM)
    first = [(event["stream"], event["message"]) for event in events[:900]]
    assert first == [
        line
        for number in range(300)
        for line in (
            ("stdout", f"out {number}"),
            ("stderr", f"err {number}"),
            ("runner", f"log {number}"),
        )
    ]
    assert {event["level"] for event in events if event["stream"] == "stderr"} == {"warning"}
    rest = [event["message"] for event in events[900:]]
    assert rest.count("x" * 5000) == 200, "lines of several threads stay whole"
    assert "colour red and \N{REPLACEMENT CHARACTER} bell" in rest
    assert rest[-4:-2] == ["y" * MAX_LINE, "y" * MAX_LINE]
    assert rest[-1] == "the end"


def test_a_traceback_comes_before_what_follows_it() -> None:
    program = """
import sys, traceback
from ipulse_worker.runner.event_writer import EventWriter
from ipulse_worker.runner.output_stream import redirect_output

events = EventWriter(int(sys.argv[1]))
redirect_output(events)
events.log("before")
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
events.log("after")
"""
    messages = [event["message"] for event in run(program)]
    assert (messages[0], messages[-1]) == ("before", "after")
    assert messages[-2] == "ZeroDivisionError: division by zero"

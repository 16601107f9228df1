"""The live picture of a job, as a terminal shows it."""

from __future__ import annotations

import codecs
import os
import pty
import re
import subprocess
import sys

from ipulse.client import Connection
from tests.ipulse.live_service import Agent, LiveService

from .conftest import FILES, SPEC, environment


def test_watch_draws_on_a_terminal(service: LiveService, client: Connection, agent: Agent) -> None:
    job = client.submit(SPEC)
    attempt = agent.claim(job.id)
    for phase in ("prepare", "compile", "acquire", "run"):
        attempt.report({"kind": "phase", "phase": phase})
    attempt.metric(5, 10, loss=0.5, accuracy=0.25)
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "ipulse", "watch", job.id],
        env=environment(IPULSE_HOME=str(service.home), TERM="xterm-256color", COLUMNS="60"),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = ""
    decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end within a character
    while "25.0 %" not in shown:
        shown += decoder.decode(os.read(ours, 4096))
    assert "━" in shown
    assert "epoch 1/1" in shown
    attempt.report({"kind": "phase", "phase": "report"})
    for name, content in FILES.items():
        attempt.store(name, name.partition(".")[0], content)
    attempt.finish(test_accuracy=0.75)
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed: how Linux ends a terminal
            break
        shown += decoder.decode(data)
    os.close(ours)
    assert running.wait(timeout=60) == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert plain.rstrip().endswith("succeeded: test accuracy 75.0 %")
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 60

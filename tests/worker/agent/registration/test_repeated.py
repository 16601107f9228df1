"""A machine that did not answer in time is asked again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ipulse_worker.agent.registration import inventory as module
from ipulse_worker.agent.registration import repeated
from ipulse_worker.agent.registration.inventory import InventoryReader
from ipulse_worker.agent.registration.repeated import RepeatedQuestion
from ipulse_worker.agent.settings import AgentSettings


def test_a_sandbox_and_ipus_that_did_not_answer_in_time_are_asked_for_again(
    settings: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that was busy once has all that it has, without a new start of its agent."""
    busy = tmp_path / "busy"
    busy.touch()
    answers = {"gc-info": "echo 4", **dict.fromkeys(("bwrap", "prlimit", "setpriv", "mount"), ":")}
    for name, answer in answers.items():
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\n[ -e "{busy}" ] && exec sleep 60\n{answer}\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "COUNT_SECONDS", 0.2)
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.2)
    monkeypatch.setattr(repeated, "FIRST_SECONDS", 0.0)
    kinds = ("emulator", "ipu")
    reader = InventoryReader(settings.model_copy(update={"device_kinds": kinds}), {})
    found = reader.read()
    assert "sandbox" not in found.capabilities
    assert "ipu" not in found.ipus
    busy.unlink()
    monkeypatch.setattr(module, "COUNT_SECONDS", 60.0)
    monkeypatch.setattr(module, "PROBE_SECONDS", 60.0)
    for _ in range(2):
        found = reader.read()
    assert found.ipus["ipu"] == 4
    assert found.capabilities["sandbox"] == "bubblewrap"


def test_questions_are_asked_less_often_until_there_is_an_answer() -> None:
    now, asked = 0.0, list[float]()
    answers: list[str | None] = [None, None, None, "no", None, "yes"]

    def ask() -> str | None:
        asked.append(now)
        return answers.pop(0)

    question = RepeatedQuestion(ask, lambda answer: answer == "yes", lambda: now)
    seen = []
    while now < 3000:
        if question.is_due():
            question.ask()
            seen.append(question.answer)
        now += 5
    assert asked == [0, 15, 45, 105, 405, 420]
    # An answer stays while there is no other.
    assert seen == [None, None, None, "no", "no", "yes"]


@pytest.mark.parametrize("answer", ["yes", None])
def test_an_answer_that_proves_wrong_while_it_is_asked_for_is_asked_for_again(
    answer: str | None,
) -> None:
    def ask() -> str | None:
        if not asked:
            question.ask_again()  # a job did not find it at this moment
        asked.append(True)
        return answer

    asked: list[bool] = []
    question = RepeatedQuestion(ask, clock=lambda: 0.0)
    question.ask()
    assert question.is_due()
    question.ask()
    assert not question.is_due()

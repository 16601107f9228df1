"""Events survive the pipe unchanged; invalid ones are refused with the place."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse.events import parse_event
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput
from ipulse_core.events import PROTOCOL, Assignment, Event, PhaseEvent
from ipulse_core.states import Phase
from tests.ipulse.strategies import values

KINDS = {get_args(get_type_hints(cls)["kind"])[0]: cls for cls in get_args(Event)}

REFUSED: dict[str, Any] = {
    "no object": ([], "", "wrong_type"),
    "no kind": ({"phase": "run"}, "/kind", "missing"),
    "an unknown kind": ({"kind": "dance"}, "/kind", "not_a_choice"),
    "a kind that is no text": ({"kind": {}}, "/kind", "not_a_choice"),
    "an unknown phase": ({"kind": "phase", "phase": "lunch"}, "/phase", "not_a_choice"),
    "a path upwards": ({"kind": "artifact", "path": "../x", "role": "log"}, "/path", "wrong_form"),
    "an absolute path": (
        {"kind": "checkpoint", "path": "/etc/passwd", "epoch": 1, "step": 1},
        "/path",
        "wrong_form",
    ),
    "a hidden file": ({"kind": "artifact", "path": ".x", "role": "log"}, "/path", "wrong_form"),
    "a file in a folder": (
        {"kind": "artifact", "path": "a/b", "role": "log"},
        "/path",
        "wrong_form",
    ),
    "a name of 129 characters": (
        {"kind": "artifact", "path": "n" * 129, "role": "log"},
        "/path",
        "wrong_form",
    ),
    "a NUL in a name": (
        {"kind": "artifact", "path": "a\0", "role": "log"},
        "/path",
        "control_character",
    ),
    "a loss that is NaN": (
        {
            "kind": "metric",
            "epoch": 1,
            "epochs": 1,
            "step": 1,
            "steps": 1,
            "values": {"loss": float("nan")},
        },
        "/values/loss",
        "not_finite",
    ),
    "a log with escapes": (
        {"kind": "log", "message": "\x1b]0;x\x07"},
        "/message",
        "control_character",
    ),
}


@given(st.one_of(*(values(cls) for cls in KINDS.values())))
def test_every_event_survives_its_line(event: Event) -> None:
    line = strict_json.dumps(event.to_json())
    assert "\n" not in line
    assert parse_event(strict_json.loads(line)) == event


@pytest.mark.parametrize(("value", "pointer", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refuses(value: Any, pointer: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_event(value)
    assert [(p.pointer, p.code) for p in caught.value.problems] == [(pointer, code)]


def test_the_kind_selects_the_event_class() -> None:
    assert len(KINDS) == len(get_args(Event))


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_can_be_entered(phase: Phase) -> None:
    assert parse_event({"kind": "phase", "phase": phase.value}) == PhaseEvent(phase=phase.value)


def test_an_assignment_is_one_line_and_keeps_its_spec() -> None:
    assignment = Assignment(
        protocol=PROTOCOL, job_id="job_1", attempt=2, work_dir="/w", spec={"version": 1}
    )
    line = strict_json.dumps(assignment.to_json())
    assert "\n" not in line
    assert Assignment(**strict_json.loads(line)) == assignment

"""Names, words and colours of the page agree with those of the service and of reports."""

from __future__ import annotations

import re
from typing import get_args

from ipulse_core.limits import DECEPTIVE
from ipulse_core.states import PAUSABLE, STATE_OF_PHASE, TERMINAL, JobState, Phase, Reason
from ipulse_service.jobs.queue.waiting import Why
from ipulse_service.sweeps.rows import SweepState, TrialState
from tests.service.http.pages.test_web import STATIC
from tests.service.running import ROOT


def constant(file: str, name: str) -> str:
    """Returns the expression that a script assigns to a name."""
    match = re.search(rf"\bconst {name} = ([^;]*);", (STATIC / file).read_text("utf-8"))
    assert match, f"{file} has no {name}"
    return match[1]


def test_the_page_knows_every_state() -> None:
    phases = re.findall(r'"(\w+)"', constant("lib/format.js", "PHASES"))
    assert phases == [phase.value for phase in Phase]
    state_of = {
        p: s for s, p in re.findall(r'(\w+): "(\w+)"', constant("lib/format.js", "PHASE_OF"))
    }
    assert state_of == {phase.value: state.value for phase, state in STATE_OF_PHASE.items()}
    ends = set(re.findall(r'"(\w+)"', constant("lib/format.js", "ENDS")))
    assert ends == {state.value for state in TERMINAL}
    states = set(re.findall(r'"(\w+)"', constant("lib/format.js", "STATES")))
    assert states | set(state_of.values()) | ends == {state.value for state in JobState}
    pausable = set(re.findall(r'"(\w+)"', constant("lib/format.js", "PAUSABLE")))
    assert pausable | set(state_of.values()) == {state.value for state in PAUSABLE}


def keys(file: str, name: str) -> set[str]:
    """Returns the keys of an object that a script assigns to a name."""
    text = (STATIC / file).read_text("utf-8")
    match = re.search(rf"\bconst {name} = (\{{.*?\}});", text, flags=re.DOTALL)
    assert match, f"{file} has no {name}"
    return set(re.findall(r"(?:^|[{,])\s*(\w+):\s+(?:\"|[A-Z])", match[1], flags=re.MULTILINE))


def test_the_page_words_every_reason() -> None:
    assert keys("lib/waiting.js", "WHY") == set(get_args(Why))
    wanted = {"completed", "finished_early", "pruned", "cancelled_by_user", "paused_by_user"}
    hints = {reason.value for reason in Reason} - wanted
    assert keys("views/job/outcome.js", "HINTS") == hints
    assert keys("views/sweeps/words.js", "KINDS") == {state.value for state in SweepState}
    assert keys("views/sweeps/words.js", "TRIAL_KINDS") == {state.value for state in TrialState}


def test_the_page_and_the_report_have_the_same_colours() -> None:
    def colours(text: str) -> list[dict[str, str]]:
        """Returns the colours by name, of the light and of the dark scheme."""
        light, _, dark = text.partition("prefers-color-scheme: dark")
        pattern = re.compile(r"--([\w-]+): (#[0-9a-f]{6})")
        return [dict(pattern.findall(part)) for part in (light, dark)]

    pattern = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
    found = pattern.findall((STATIC / "styles/tokens.css").read_text("utf-8"))
    page = [{name: pair[i] for name, *pair in found} for i in (0, 1)]
    report = colours(
        (ROOT / "worker/ipulse_worker/runner/report/templates/style.css").read_text("utf-8")
    )
    for ours, theirs in zip(page, report, strict=True):
        shared = ours.keys() & theirs.keys()
        assert len(shared) > 10
        assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_a_class_is_styled_by_one_sheet() -> None:
    """All sheets are loaded together: two would change each other's elements."""
    sheets: dict[str, str] = {}
    for path in sorted((STATIC / "styles").glob("*.css")):
        text = path.read_text("utf-8")
        plain = re.sub(r"/\*.*?\*/|@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", text)
        for selector in re.findall(r"(?:^|[},])\s*(\.[\w-]+)\s*(?=[{,])", plain):
            assert sheets.setdefault(selector, path.name) == path.name, selector
    assert len(sheets) > 50


def test_the_page_escapes_the_characters_that_deceive() -> None:
    deceptive = constant("lib/shown.js", "DECEPTIVE")
    assert deceptive == f"/[{DECEPTIVE}]/g"

"""What docs/reliability.md claims is there to be read."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from benchmarks.faults import PAGE, RESULTS, add_up, page_with

ROOT = Path(__file__).resolve().parent.parent


def test_the_figures_are_those_of_the_results() -> None:
    assert page_with(PAGE.read_text(), json.loads(RESULTS.read_text())) == PAGE.read_text()


def test_the_tests_that_hold_a_promise_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE.read_text()))
    assert len(named) > 5
    for name in named:
        assert (ROOT / name).exists(), name
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"\(`((?:test_|Test|check_)\w+)`\)", PAGE.read_text()):
        assert re.search(rf"(def|class) {name}\b", sources), name


def test_each_rule_names_tests_that_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)((?:::\w+)+)`", PAGE.read_text()))
    assert len(named) > 50
    for file, path in named:
        body: list[ast.stmt] = ast.parse((ROOT / "tests" / file).read_text()).body
        for name in path.strip(":").split("::"):
            found = [one for one in body if getattr(one, "name", "") == name]
            assert len(found) == 1, f"{file}{path}"
            body = getattr(found[0], "body", [])


def test_runs_add_up() -> None:
    fault = {"fault": "kill agent", "times": 2, "attempts_struck": 2, "rerun_seconds": [16.0, 21.0]}
    run = {
        "seed": 1,
        "runner": "scripted",
        "agents": 4,
        "lease_seconds": 15.0,
        "seconds": 60.0,
        "kills": 2,
        "jobs_accepted": 7,
        "lost": ["job_a (missing)"],
        "run_twice_officially": [],
        "old_runner_beside_next": None,
        "broken": [],
        "clock_error_seconds": 5.0,
        "skipped": [],
        "faults": [fault],
    }
    added = add_up([run, {**run, "seed": 2, "lost": []}])["scripted"]
    assert (added["kills"], added["jobs_accepted"], added["lost"]) == (4, 14, 1)
    figures = {"reruns": 4, "p50": 16.0, "p99": 21.0, "max": 21.0, "within_20_s": 2}
    assert added["faults"]["kill agent"] == {"times": 4, "attempts_struck": 4, **figures}
    assert added["reruns_after_a_killed_worker"] == figures

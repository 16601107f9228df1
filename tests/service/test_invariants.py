"""What holds for many people at once, by number: each has a test with the number in its name."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
INVARIANTS = {
    1: "No answer tells whether an object that the caller may not see exists.",
    2: "Each change has one entry in the audit log; a repeated request has none.",
    3: "The chain of the audit log verifies whatever writes at once.",
    4: "Rights that end take effect at the next request, and end open streams.",
    5: "The last owner of a project and the last administrator stay.",
    6: "Claims at once exceed no quota.",
    7: "Jobs start in the order of the queue.",
    8: "A job that goes ahead never delays the one that comes first.",
    9: "A job has all its devices or none.",
    10: "Of jobs with one priority, none starves.",
    11: "Expected starts and the order of real ones agree.",
    12: "Counted device time is that of the attempts.",
    13: "A job is preempted at most three times.",
    14: "A join token works as often as it says, also for machines that come at once.",
    24: "Nobody reads through a digest what they could not read through a name.",
    26: "A plan stores nothing.",
    27: "Each end is delivered under one id, and never to a forbidden address.",
    28: "The stream over all jobs has no gap and repeats nothing.",
    29: "A job that is exported, imported and exported again has the same bytes.",
    30: "An archive with a changed byte is refused, and the file named.",
    31: "One who floods the service delays others little.",
    32: "One person alone has the order of priority and submission.",
}


def test_each_invariant_has_a_test() -> None:
    named = {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in re.findall(r"def test_n(\d+)_", path.read_text("utf-8"))
    }
    assert named == INVARIANTS.keys()

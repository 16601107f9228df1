from __future__ import annotations

import pytest

from ipulse_service.http import etags


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        (None, False),
        ("", False),
        ('"7"', True),
        ('W/"7"', True),
        ('"6", "7"', True),
        ('"6","77"', False),
        ("7", False),
        ("*", True),
        ('"7', False),
    ],
)
def test_a_condition_names_a_version_or_does_not(condition: str | None, matches: bool) -> None:
    assert etags.matches(condition, "7") is matches

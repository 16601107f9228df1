from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_service.http import pagination
from ipulse_service.http.problems import InvalidParameter

FILTERS = "queued"


@given(st.integers(0, 2**63 - 1), st.text())
def test_a_token_leads_back_to_the_end_of_its_page(last: int, filters: str) -> None:
    assert pagination.decode(pagination.encode(last, filters), filters) == last


@given(st.integers(0, 2**63 - 1), st.data())
def test_a_changed_token_is_refused_or_names_another_item(last: int, data: st.DataObject) -> None:
    token = bytearray(pagination.encode(last, FILTERS).encode())
    place = data.draw(st.integers(0, len(token) - 1))
    token[place] = data.draw(st.integers(33, 126))
    with contextlib.suppress(InvalidParameter):
        assert 0 <= pagination.decode(token.decode(), FILTERS) < 2**63


@given(st.text())
def test_text_that_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter) as raised:
        pagination.decode(text, FILTERS)
    assert raised.value.problems[0].code == "bad_token"


GOOD = json.loads(base64.urlsafe_b64decode(pagination.encode(7, FILTERS) + "=="))


@pytest.mark.parametrize(
    "content",
    [
        {**GOOD, "before": -1},
        {**GOOD, "before": 2**63},
        {**GOOD, "before": 7.0},
        {**GOOD, "before": "7"},
        {**GOOD, "before": True},
        {**GOOD, "before": None},
        {**GOOD, "filters": 7},
        {**GOOD, "filters": "x" * 200},
        {**GOOD, "more": 1},
        {"before": 7},
        [7],
        7,
        None,
    ],
)
def test_a_forged_token_of_another_form_is_refused(content: Any) -> None:
    token = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    with pytest.raises(InvalidParameter) as raised:
        pagination.decode(token, FILTERS)
    assert raised.value.problems[0].code == "bad_token"


def test_a_token_belongs_to_the_filters_of_its_list() -> None:
    with pytest.raises(InvalidParameter) as raised:
        pagination.decode(pagination.encode(7, FILTERS), "running")
    assert raised.value.problems[0].code == "filters_changed"

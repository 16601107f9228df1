from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_service.http import pagination as pages
from ipulse_service.http.problems import InvalidParameter

KEY = b"k" * 32


@given(st.integers(0, 2**63 - 1), st.text())
def test_a_token_leads_back_to_where_its_page_ended(last: int, filters: str) -> None:
    assert pages.unseal(KEY, pages.seal(KEY, last, filters), filters) == last


@given(st.integers(0, 2**63 - 1), st.data())
def test_a_changed_token_is_refused(last: int, data: st.DataObject) -> None:
    token = bytearray(base64.urlsafe_b64decode(pages.seal(KEY, last, "") + "=="))
    bit = data.draw(st.integers(0, len(token) * 8 - 1))
    token[bit // 8] ^= 1 << bit % 8
    with pytest.raises(InvalidParameter) as raised:
        pages.unseal(KEY, base64.urlsafe_b64encode(token).decode(), "")
    assert raised.value.problems[0].pointer == "/query/page_token"


@given(st.text())
def test_text_that_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        pages.unseal(KEY, text, "")


def test_a_token_is_of_no_use_elsewhere() -> None:
    token = pages.seal(KEY, 7, "queued")
    with pytest.raises(InvalidParameter, match="not valid"):
        pages.unseal(b"another key", token, "queued")
    with pytest.raises(InvalidParameter) as raised:
        pages.unseal(KEY, token, "running")
    assert raised.value.problems[0].code == "filters_changed"


def test_a_token_does_not_show_what_is_in_it() -> None:
    first, second = (pages.seal(KEY, last, "") for last in (1, 2))
    plain = [base64.urlsafe_b64decode(token + "==") for token in (first, second)]
    assert all((1).to_bytes(8, "big") not in text for text in plain)
    same = sum(a == b for a, b in zip(*plain, strict=True))
    assert same < len(plain[0]) // 2, "neighbours look alike"

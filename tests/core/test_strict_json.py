"""JSON that is refused although Python would read it, and the canonical text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_core import strict_json
from ipulse_core.errors import InvalidJSON

text = st.text(max_size=20)  # Hypothesis leaves surrogates out by itself
trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)

REFUSED = {
    "nothing": (b"", "line 1 column 1"),
    "only spaces": (b"   ", "line 1 column 4"),
    "an open list": (b"[", "line 1 column 2"),
    "two documents": (b"{} {}", "Extra data"),
    "a comment": (b"{} // {}", "Extra data"),
    "a trailing comma": (b'{"a": 1,}', "line 1"),
    "single quotes": (b"{'a': 1}", "line 1 column 2"),
    "NaN": (b'{"a": NaN}', "NaN is not a JSON number"),
    "infinity": (b"[Infinity]", "Infinity is not a JSON number"),
    "minus infinity": (b"[-Infinity]", "-Infinity is not a JSON number"),
    "a key twice": (b'{"a": 1, "b": 2, "a": 3}', '"a" occurs twice'),
    "a key twice, deep inside": (b'[{"b": {"a": 1, "a": 1}}]', '"a" occurs twice'),
    "a key twice, once escaped": (b'{"a": 1, "\\u0061": 2}', '"a" occurs twice'),
    "a lone surrogate": (b'{"a": "\\ud800"}', "/a: a lone surrogate"),
    "a lone surrogate in a key": (b'{"x": {"\\udfff": 1}}', "/x: a lone surrogate"),
    "bytes that are not UTF-8": (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "BOM"),
    "a raw newline in text": (b'"a\nb"', "control character"),
    "65 levels": (b"[" * 65 + b"]" * 65, "deeper than 64"),
    "100,000 levels": (b"[" * 100_000, "deeper than 64"),
    "100,000 levels of objects": (b'{"a":' * 100_000, "deeper than 64"),
    "5,000 digits": (b"1" * 5000, "thousands of digits"),
}


class TestLoads:
    @pytest.mark.parametrize(("document", "message"), REFUSED.values(), ids=REFUSED.keys())
    def test_refuses(self, document: bytes, message: str) -> None:
        with pytest.raises(InvalidJSON) as caught:
            strict_json.loads(document)
        (problem,) = caught.value.problems
        assert problem.code == "invalid_json"
        assert message in str(problem)
        assert len(str(problem)) < 300

    @given(trees)
    def test_reads_what_is_json(self, value: object) -> None:
        assert strict_json.loads(json.dumps(value)) == value
        assert strict_json.loads(json.dumps(value, ensure_ascii=False).encode()) == value

    def test_a_surrogate_pair_is_one_character(self) -> None:
        assert strict_json.loads(b'"\\ud83d\\ude00"') == "\U0001f600"

    @pytest.mark.parametrize(
        ("text", "value"),
        [("1.0", 1), ("-0.0", 0), ("4e2", 400), ("1.5", 1.5), ("1e300", 1e300), ("9.1e15", 9.1e15)],
    )
    def test_a_whole_number_may_be_read_as_an_integer(self, text: str, value: float) -> None:
        [read] = strict_json.loads(f"[{text}]", whole_as_int=True)
        assert (type(read), read) == (type(value), value)
        assert type(strict_json.loads(text)) is float

    def test_64_levels_are_allowed(self) -> None:
        assert strict_json.loads("[" * 64 + "]" * 64)

    def test_a_long_key_is_not_repeated_in_full(self) -> None:
        key = "k" * 10_000
        with pytest.raises(InvalidJSON) as caught:
            strict_json.loads(f'{{"{key}": 1, "{key}": 2}}')
        assert len(str(caught.value)) < 300


class TestDumps:
    @given(trees)
    def test_reading_gives_the_value_back(self, value: object) -> None:
        assert strict_json.loads(strict_json.dumps(value)) == value

    def test_the_order_of_keys_does_not_matter(self) -> None:
        assert strict_json.dumps({"b": 1, "a": 2}) == strict_json.dumps({"a": 2, "b": 1})

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=str)
    def test_refuses_what_is_no_json_number(self, value: float) -> None:
        with pytest.raises(ValueError, match="not JSON compliant"):
            strict_json.dumps([value])


@pytest.mark.parametrize(
    ("key", "token"), [("a", "a"), ("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01"), ("", "")]
)
def test_escape_follows_rfc_6901(key: str, token: str) -> None:
    assert strict_json.escape(key) == token

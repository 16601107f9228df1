from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_service.http.files.file_response import ByteRange, parse_range
from ipulse_service.http.problems import RangeNotSatisfiable

SIZES = st.integers(0, 50)


@given(SIZES, st.integers(0, 60), st.integers(0, 60))
def test_a_range_names_the_bytes_that_a_slice_would(size: int, first: int, last: int) -> None:
    content = bytes(range(size))
    expected = content[first : last + 1] if first <= last else b""
    check(f"bytes={first}-{last}", content, expected)


@given(SIZES, st.integers(0, 60))
def test_an_open_range_goes_to_the_end(size: int, first: int) -> None:
    content = bytes(range(size))
    check(f"bytes={first}-", content, content[first:])


@given(SIZES, st.integers(0, 60))
def test_a_suffix_counts_from_the_end(size: int, count: int) -> None:
    content = bytes(range(size))
    check(f"bytes=-{count}", content, content[-count:] if count else b"")


def check(header: str, content: bytes, expected: bytes) -> None:
    if expected:
        span = parse_range(header, len(content))
        assert span is not None
        assert content[span.start : span.stop] == expected
    else:
        with pytest.raises(RangeNotSatisfiable) as raised:
            parse_range(header, len(content))
        assert raised.value.size == len(content)


@pytest.mark.parametrize("header", [None, "", "items=0-3", "seconds=1-2"])
def test_no_range_of_bytes_is_the_whole_file(header: str | None) -> None:
    assert parse_range(header, 9) is None


@pytest.mark.parametrize(
    "header", ["bytes=0-0,2-2", "bytes = 0-, -3", "bytes=5-2,99-", "bytes=" + "0-0," * 15 + "1-1"]
)
def test_several_ranges_are_the_whole_file(header: str) -> None:
    assert parse_range(header, 9) is None


@pytest.mark.parametrize(
    "header",
    [
        "bytes=" + ",".join(f"{n}-{n}" for n in range(10_000)),
        "bytes=" + "0-0," * 16 + "1-1",
        "bytes=0-0,a-b",
        "bytes=0-0,,2-2",
        "bytes=0-0,-",
        "bytes=5-2",
        "bytes=-0",
        "bytes=-",
        "bytes=",
        "bytes",
        "bytes=a-b",
        "bytes=0x0-0x1",
        "bytes=--1",
        "bytes=1-2-3",
        "bytes=9-",
        f"bytes={'9' * 5000}-",
        "bytes=\u0661-\u0662",
    ],
)
def test_abused_ranges_are_refused_whatever_their_length(header: str) -> None:
    with pytest.raises(RangeNotSatisfiable):
        parse_range(header, 9)


def test_a_range_beyond_the_end_is_cut_at_the_end() -> None:
    assert parse_range("bytes=7-999999999999999999", 9) == ByteRange(7, 9)

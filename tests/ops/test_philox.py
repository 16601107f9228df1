"""Philox4x32-10: the published vectors, and an independent implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_ops.philox import below, key_of, philox4x32
from tests.ops.philox_loops import philox

words = st.integers(0, 2**32 - 1)


class TestPhilox:
    # The known-answer tests of the authors' Random123 library: counter, key, result.
    @pytest.mark.old_python
    @pytest.mark.parametrize(
        ("counter", "key", "expected"),
        [
            (
                (0x00000000, 0x00000000, 0x00000000, 0x00000000),
                (0x00000000, 0x00000000),
                [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
            ),
            (
                (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
                (0xFFFFFFFF, 0xFFFFFFFF),
                [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
            ),
            (
                (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
                (0xA4093822, 0x299F31D0),
                [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
            ),
        ],
    )
    def test_gives_the_published_words(self, counter: tuple, key: tuple, expected: list) -> None:
        assert philox4x32(counter, key).tolist() == expected

    @given(st.tuples(words, words, words, words), st.integers(0, 2**64 - 1))
    def test_equals_plain_python(self, counter: tuple, seed: int) -> None:
        assert philox4x32(counter, key_of(seed)).tolist() == philox(seed, counter)

    def test_counters_broadcast(self) -> None:
        step, sample = np.ogrid[:3, :2]
        result = philox4x32((step, 7, sample, 1), key_of(5))
        assert result.shape == (3, 2, 4)
        assert result.dtype == np.uint32
        for t, b in np.ndindex(3, 2):
            assert result[t, b].tolist() == philox(5, (t, 7, b, 1))


class TestSeeds:
    @pytest.mark.parametrize("seed", [-1, 2**64])
    def test_beyond_two_words_are_refused(self, seed: int) -> None:
        with pytest.raises(ValueError, match=r"seed must be 0 to 2\^64 - 1; got "):
            key_of(seed)


class TestBelow:
    def test_spans_the_range_in_equal_parts(self) -> None:
        edges = np.array([0, 2**31 - 1, 2**31, 2**32 - 1], dtype=np.uint32)
        assert below(edges, 2).tolist() == [0, 0, 1, 1]
        assert below(edges, 1).tolist() == [0, 0, 0, 0]
        assert below(edges, 2**32).tolist() == edges.tolist()

    @pytest.mark.parametrize("limit", [3, 7, 1000])
    def test_is_uniform(self, limit: int) -> None:
        drawn = below(philox4x32((np.arange(50_000), 0, 0, 0), key_of(1)), limit).ravel()
        expected = drawn.size / limit
        chi_square = float(np.sum((np.bincount(drawn, minlength=limit) - expected) ** 2) / expected)
        # Mean limit - 1, standard deviation sqrt(2 (limit - 1)).
        assert abs(chi_square - (limit - 1)) < 4 * np.sqrt(2 * (limit - 1))

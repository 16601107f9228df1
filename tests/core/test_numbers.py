from __future__ import annotations

import pytest

from ipulse_core.numbers import plain_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (25519.6, "25,520"),
        (25520.0, "25,520"),
        (2**60, "1,152,921,504,606,846,976"),
        (97.493, "97.49"),
        (0.5, "0.5"),
        (9999.7, "10,000"),
        (0.00001, "0.00001"),
        (1.25e-7, "0.000000125"),
        (0.0, "0"),
        (-1234.56, "-1,235"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_have_no_exponent(value: float, text: str) -> None:
    assert plain_number(value) == text

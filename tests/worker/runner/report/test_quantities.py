from __future__ import annotations

import pytest

from ipulse_worker.runner.report import quantities


class TestDuration:
    @pytest.mark.parametrize(
        ("seconds", "shown"),
        [
            (0.0, "0.00 µs"),
            (12.34e-6, "12.3 µs"),
            (0.99949e-3, "999 µs"),
            (0.99951e-3, "1.00 ms"),
            (4.5678e-3, "4.57 ms"),
            (0.9994, "999 ms"),
            (9.994, "9.99 s"),
            (9.996, "10.0 s"),
            (99.94, "99.9 s"),
            (99.96, "1 min 40 s"),
            (125, "2 min 05 s"),
            (3599.6, "60 min 00 s"),
            (7325, "2 h 02 min"),
        ],
    )
    def test_has_three_digits_and_a_fitting_unit(self, seconds: float, shown: str) -> None:
        assert quantities.duration(seconds) == shown


class TestSize:
    @pytest.mark.parametrize(
        ("number", "shown"),
        [(0, "0 B"), (999, "999 B"), (1024, "1.00 KiB"), (98.5 * 1024, "98.5 KiB")],
    )
    def test_uses_binary_units(self, number: float, shown: str) -> None:
        assert quantities.size(number) == shown

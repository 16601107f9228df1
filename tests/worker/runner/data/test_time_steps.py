"""Times of events become steps; hypothesis searches for a time that ends up in another step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipulse_core.spec.time_rounding import last_step
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.dataset import DataInvalid
from ipulse_worker.runner.data.time_steps import step_of

K = np.arange(10_001)
STEPS = [0.1, 0.2, 0.3, 0.7, 1.0, 0.25, 1e-3, 2e-3, 1e-4, 1 / 3, 0.01, 10.0, 16.7, 125.0]
widths = st.sampled_from(STEPS) | st.floats(1e-6, 1000.0)


@pytest.mark.parametrize("kind", [np.float64, np.longdouble, np.float32])
class TestFloats:
    @pytest.mark.old_python
    @given(step=widths)
    def test_a_multiple_of_the_step_is_in_its_step(self, kind: Any, step: float) -> None:
        np.testing.assert_array_equal(step_of((K * step).astype(kind), step), K)

    @pytest.mark.old_python
    @given(step=widths)
    def test_a_product_of_its_own_type_too(self, kind: Any, step: float) -> None:
        np.testing.assert_array_equal(step_of(K.astype(kind) * kind(step), step), K)

    @given(step=widths, factor=st.sampled_from([1e-3, 1e3, 1e6]))
    def test_a_change_of_units_does_not_matter(self, kind: Any, step: float, factor: float) -> None:
        other = K.astype(kind) * kind(step * factor)
        np.testing.assert_array_equal(step_of(other / kind(factor), step), K)

    @given(step=widths, part=st.floats(0.01, 0.99))
    def test_a_time_within_a_step_is_in_it(self, kind: Any, step: float, part: float) -> None:
        np.testing.assert_array_equal(step_of(((K + part) * step).astype(kind), step), K)

    @given(step=widths)
    def test_what_is_before_the_first_step_stays_there(self, kind: Any, step: float) -> None:
        assert (
            step_of(np.array([-0.001 * step, -step, -7.5 * step], kind), step).tolist() == [-1] * 3
        )


@given(step=widths)
def test_a_running_sum_of_steps_is_in_its_step(step: float) -> None:
    times = np.concatenate([[0.0], np.cumsum(np.full(10_000, step))])
    np.testing.assert_array_equal(step_of(times, step), K)


class TestIntegers:
    @pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
    @given(width=st.integers(1, 200_000))
    def test_are_exact_on_both_sides_of_a_step(self, kind: Any, width: int) -> None:
        """In microseconds, of a step that a spec gives in milliseconds."""
        step = 1000.0 * (width / 1000.0)
        np.testing.assert_array_equal(step_of((K * width).astype(kind), step), K)
        np.testing.assert_array_equal(step_of((K[1:] * width - 1).astype(kind), step), K[1:] - 1)

    def test_of_a_nanosecond_clock(self) -> None:
        times = K * 10**9
        assert step_of(times[1:] - 1, 1e9).tolist() == K[:-1].tolist()
        assert step_of(times, 1e9).tolist() == K.tolist()


class TestHalfPrecision:
    """Either the step is right or the time is refused; where it can be right, it is."""

    @pytest.mark.parametrize("step", [0.1, 0.2, 0.3, 0.7, 1.1, 1.3, 2.7, 1e-3, 1e-5, 3e-8, 1e-9])
    def test_every_product_of_the_rounded_step_is_right_or_refused(self, step: float) -> None:
        """Products reach the bounds of their rounding error, as 3 steps of 0.1 do."""
        k = np.arange(2049)
        with np.errstate(under="ignore"):
            times = k.astype(np.float16) * np.float16(step)
        answered = 0
        for at, time in zip(k, times):
            try:
                found = step_of(time.reshape(1), step)
            except DataInvalid:
                continue
            assert found.tolist() == [at]
            assert step < 1e-4 or last_step(float(time), step, "float16") in (at, at + 1)
            answered += 1
        assert answered >= (500 if step >= 1e-3 else 0)

    def test_a_step_that_is_rounded_to_zero_is_refused(self) -> None:
        with pytest.raises(DataInvalid, match="16 bits"):
            step_of(np.zeros(3, np.float16), 1e-9)
        assert step_of(np.array([-1e-3, -0.0], np.float16), 1e-9, steps=0).tolist()[0] == -1

    @given(step=widths, k=st.integers(0, 10_000), is_product=st.booleans())
    def test_is_right_or_refused(self, step: float, k: int, is_product: bool) -> None:
        with np.errstate(over="ignore"):
            time = np.float16(k) * np.float16(step) if is_product else np.float16(k * step)
        if not np.isfinite(time):
            return
        try:
            found = step_of(np.array([time], np.float16), step)
        except DataInvalid:
            return
        assert found.tolist() == [k]

    @pytest.mark.parametrize(
        ("step", "most"),
        [(0.1, 640), (1.0, 2048), (0.3, 640), (0.25, 2048), (10.0, 1024), (3.0, 1365)],
    )
    def test_is_right_as_far_as_numbers_are_closer_than_steps(self, step: float, most: int) -> None:
        k = np.arange(most)
        assert step_of((k * step).astype(np.float16), step).tolist() == k.tolist()

    @given(step=widths, k=st.integers(0, 10_000))
    def test_measured_times_are_refused_only_where_two_steps_have_one_number(
        self, step: float, k: int
    ) -> None:
        time = np.float16(k * step) if k * step < 65_000 else np.float16(0)
        spacing = float(np.spacing(time))
        if time < 1e-4 or spacing == step:
            return
        try:
            found = step_of(np.array([time]), step, is_measured=True)
        except DataInvalid:
            assert spacing > step
        else:
            assert spacing < step
            assert found.tolist() == [k]

    def test_times_after_the_last_step_need_not_be_exact(self) -> None:
        times = np.array([0.3, 60_000.0], np.float16)
        assert step_of(times, 0.1, steps=100)[0] == 3
        assert step_of(times, 0.1, steps=100)[1] >= 100
        with pytest.raises(DataInvalid, match="float32"):
            step_of(times, 0.1)

    def test_the_message_has_the_place_and_the_time(self) -> None:
        with pytest.raises(DataInvalid, match=r"mine\.npz: the time 200 "):
            Binning(9000, 1, step_ms=0.1).step_of(np.array([0.1, 200.0], np.float16), "mine.npz")


def test_what_no_integer_holds_is_outside() -> None:
    assert step_of(np.array([1e300, -1e300]), 1e-9).tolist() == [2**31, -1]


def test_lists_are_times_too() -> None:
    assert step_of([0.3], 0.1).tolist() == [3]  # type: ignore[arg-type]


@given(
    st.lists(st.floats(-50, 500) | st.integers(0, 400).map(lambda k: k * 0.1), min_size=1),
    st.sampled_from([np.float64, np.float32]),
)
def test_a_binning_keeps_every_event_and_the_range_of_times(times: Any, kind: Any) -> None:
    time = np.array(times, kind)
    binning = Binning(300, 1, step_ms=0.1)
    step = binning.step_of(time, "here")
    binning.add(np.zeros(len(time), int), step, np.zeros(len(time), int), samples=1)
    counts = binning.counts
    assert counts.read == len(time) == counts.kept + counts.repeated + counts.outside
    assert (counts.first_ms, counts.last_ms) == (float(time.min()), float(time.max()))

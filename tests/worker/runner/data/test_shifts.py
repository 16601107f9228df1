from __future__ import annotations

import numpy as np
import pytest

from ipulse_worker.runner.data.shifts import shifted, shifted_copies
from tests.worker.runner.specs import DigitsData, RateCode, Shifts

from .loaded import loaded


def at(row: float, column: float) -> np.ndarray:
    """One 5x6 image, bright in one place that may lie between pixels."""
    rows = np.clip(1.0 - np.abs(np.arange(5) - row), 0.0, 1.0)
    return np.outer(rows, np.clip(1.0 - np.abs(np.arange(6) - column), 0.0, 1.0))[None]


class TestShifted:
    @pytest.mark.parametrize("down", [-1.0, -0.25, 0.0, 0.5, 2.0])
    @pytest.mark.parametrize("right", [-1.75, 0.0, 0.25, 1.0])
    def test_a_point_lands_where_it_was_moved_to(self, down: float, right: float) -> None:
        moved = shifted(at(2, 3), np.array([down]), np.array([right]))
        np.testing.assert_allclose(moved, at(2 + down, 3 + right), atol=1e-15)

    def test_what_leaves_the_image_is_gone(self) -> None:
        moved = shifted(at(0, 5), np.array([-0.75]), np.array([0.5]))
        assert moved[0, 0, 5] == 0.25 * 0.5
        assert moved.sum() == moved[0, 0, 5]
        assert not shifted(at(2, 3), np.array([-4.0]), np.array([0.0])).any()


class TestShiftedCopies:
    def test_an_image_s_shifts_depend_on_its_number_and_the_seed_alone(self) -> None:
        images = np.random.RandomState(5).random_sample((3, 8, 8))
        numbers = np.array([7, 2, 9])
        two = shifted_copies(images, numbers, Shifts(copies=2)).reshape(2, 3, 8, 8)
        five = shifted_copies(images[1:2], numbers[1:2], Shifts(copies=5))
        np.testing.assert_array_equal(two[:, 1], five[:2])
        assert len({copy.tobytes() for copy in five}) == 5
        other = shifted_copies(images[1:2], numbers[1:2], Shifts(copies=5, seed=1))
        assert not (other == five).all(axis=(1, 2)).any()

    def test_no_shift_is_farther_than_asked(self) -> None:
        """Measures the centre of a point, which bilinear shifts move exactly."""
        image = np.zeros((1, 11, 11))
        image[0, 5, 5] = 1.0
        copies = shifted_copies(image, np.array([0]), Shifts(copies=64, pixels=2.0))
        moved = np.einsum("nrc,rcd->nd", copies, np.stack(np.mgrid[:11, :11], axis=-1)) - 5
        assert np.abs(moved).max() <= 2.0
        assert (moved.min(axis=0) < -1.5).all()
        assert (moved.max(axis=0) > 1.5).all()


class TestDigits:
    def test_copies_are_learned_from_and_never_evaluated(self) -> None:
        plain = loaded(DigitsData(samples=100))
        data = loaded(DigitsData(samples=100, shifts=Shifts(copies=2, pixels=0.5)))
        np.testing.assert_array_equal(data.test, plain.test)
        np.testing.assert_array_equal(data.training[: len(plain.training)], plain.training)
        np.testing.assert_array_equal(data.training[len(plain.training) :], np.arange(100, 260))
        np.testing.assert_array_equal(data.labels[100:180], plain.labels[plain.training])
        np.testing.assert_array_equal(data.labels[180:], plain.labels[plain.training])
        for actual, expected in zip(
            data.trains.batch(np.arange(100)), plain.trains.batch(np.arange(100))
        ):
            slots = expected.shape[-1]
            np.testing.assert_array_equal(actual[..., :slots], expected)
        assert data.images is not None
        assert data.images.shape == (260, 8, 8)
        near = np.abs(data.images[100:180] - data.images[plain.training]).mean(axis=(1, 2))
        assert 0.0 < near.max() < 0.2

    def test_copies_spike_by_streams_of_their_own(self) -> None:
        """A rate code draws by a sample's number: no copy repeats its image's spikes."""
        data = loaded(
            DigitsData(
                samples=50, encoding=RateCode(max_rate=0.5), shifts=Shifts(copies=1, pixels=1e-9)
            )
        )
        image = int(data.training[0])
        assert not np.array_equal(
            data.trains.batch(np.array([image]))[1], data.trains.batch(np.array([50]))[1]
        )

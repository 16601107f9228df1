from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ipulse_core.spec.derived_values import channels_per_value
from ipulse_core.spec.time_rounding import earliest_step
from ipulse_worker.runner.data.binning import Binning
from ipulse_worker.runner.data.encoding import encode, receptive_fields
from tests.worker.runner.specs import LinearLatency, LogLatency, PopulationCode, RateCode

if TYPE_CHECKING:
    from ipulse.spec import Encoding

STEPS = 40


def steps_by_channel(values, code, steps=STEPS, step_ms=1.0):  # type: ignore[no-untyped-def] # short
    """The step of each channel's one spike of a single sample; None where it is silent."""
    events = encode(np.array([values], dtype=np.float64), code, steps, step_ms)
    actual = [None] * (len(values) * channels_per_value(code))
    for step, channel in zip(events.step.tolist(), events.channel.tolist()):
        actual[channel] = step
    return actual


class TestLogLatency:
    def test_is_the_charging_time_of_the_formula(self) -> None:
        """t = 20 ms ln(x / (x - 0.2)), worked out by hand for four of the digits' 17 levels."""
        by_hand = [
            4,  # ln(1 / 0.8) * 20 = 4.46
            10,  # ln(0.5 / 0.3) * 20 = 10.22
            32,  # ln(0.25 / 0.05) * 20 = 32.19
            None,  # 0.1875 is below the threshold
        ]
        assert steps_by_channel([1.0, 0.5, 0.25, 0.1875], LogLatency()) == by_hand

    @pytest.mark.parametrize("step_ms", [0.1, 1.0, 2.5])
    @pytest.mark.parametrize("threshold", [0.01, 0.2, 0.9])
    def test_the_rule_of_the_spec_knows_the_earliest_step(
        self, threshold: float, step_ms: float
    ) -> None:
        code = LogLatency(threshold=threshold)
        [brightest] = steps_by_channel([1.0], code, step_ms=step_ms)
        assert brightest == earliest_step(code, step_ms)

    def test_leaves_a_value_silent_that_is_just_at_the_threshold(self) -> None:
        assert steps_by_channel([0.25], LogLatency(threshold=0.25)) == [None]

    def test_counts_steps_of_the_given_width(self) -> None:
        assert steps_by_channel([0.5], LogLatency(), 20, 2.5) == [4]  # 10.22 / 2.5

    def test_counts_what_comes_after_the_last_step_as_dropped(self) -> None:
        binning = Binning(10, 2)
        events = encode(np.array([[1.0, 0.5]]), LogLatency(), 10, 1.0)
        binning.add(*events, samples=1)
        assert (binning.counts.kept, binning.counts.outside) == (1, 1)

    def test_drops_a_value_whose_charging_is_too_slow(self) -> None:
        just_above = np.array([[np.nextafter(0.25, 1.0)]])
        binning = Binning(10_000, 1)
        code = LogLatency(threshold=0.25, tau_eff_ms=1e6)
        binning.add(*encode(just_above, code, 10_000, 1e-300), samples=1)
        assert (binning.counts.kept, binning.counts.outside) == (0, 1)


class TestLinearLatency:
    def test_is_early_for_large_values_and_silent_for_nothing(self) -> None:
        actual = steps_by_channel([1.0, 0.75, 0.5, 0.03125, 0.0], LinearLatency(), 32)
        assert actual == [0, 8, 16, 31, None]


class TestPopulation:
    def test_centres_are_evenly_spaced_and_widths_are_sigmas(self) -> None:
        """Three fields at 0, 0.5 and 1; sigma is one distance, 0.5."""
        code = PopulationCode(fields=3, width=1.0)
        actual = receptive_fields(np.array([[0.5, 1.0]]), code)
        near, far = np.exp(-0.5), np.exp(-2.0)
        np.testing.assert_allclose(actual[0, 0], [near, 1.0, near], rtol=1e-14)
        np.testing.assert_allclose(actual[0, 1], [far, near, 1.0], rtol=1e-14)

    def test_the_nearest_field_spikes_first_and_the_far_one_not_at_all(self) -> None:
        """Activations 1, 0.607, 0.135: at 0, 39.3 and 86.5 % of the 40 steps."""
        code = PopulationCode(fields=3, width=1.0, threshold=0.13)
        assert steps_by_channel([1.0], code) == [34, 15, 0]
        assert steps_by_channel([1.0], PopulationCode(fields=3, width=1.0, threshold=0.14)) == [
            None,
            15,
            0,
        ]

    def test_gives_every_value_channels_of_its_own(self) -> None:
        code = PopulationCode(fields=2, width=0.1)
        assert steps_by_channel([0.0, 1.0], code) == [0, None, None, 0]


@pytest.mark.old_python
class TestRate:
    def test_spikes_with_the_probability_of_the_value(self) -> None:
        """10,000 steps: five standard deviations are 0.025 at most."""
        values = np.array([[0.0, 0.5, 1.0]])
        events = encode(values, RateCode(max_rate=0.5), 10_000, 1.0)
        rates = np.bincount(events.channel, minlength=3) / 10_000
        np.testing.assert_allclose(rates, [0.0, 0.25, 0.5], atol=0.025)
        assert rates[0] == 0.0

    def test_spikes_of_a_sample_do_not_depend_on_other_samples(self) -> None:
        values = np.full((5, 3), 0.5)
        alone = encode(values[2:3], RateCode(), STEPS, 1.0, first=2)
        together = encode(values, RateCode(), STEPS, 1.0)
        of_sample = together.sample == 2
        np.testing.assert_array_equal(together.step[of_sample], alone.step)
        np.testing.assert_array_equal(together.channel[of_sample], alone.channel)
        other = encode(values[2:3], RateCode(seed=1), STEPS, 1.0, first=2)
        assert len(other.step) != len(alone.step) or (other.step != alone.step).any()


@pytest.mark.parametrize("code", [LogLatency(), LinearLatency(), RateCode()])
def test_zero_values_have_no_spikes(code: Encoding) -> None:
    assert len(encode(np.zeros((2, 3)), code, STEPS, 1.0).step) == 0

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

import numpy as np
import pytest

from ipulse_worker.runner.training.metric_accumulator import empty_accumulator
from ipulse_worker.runner.training.second_threshold_schedule import SecondThresholdSchedule
from tests.worker.runner.trainings import spec_of

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


def spec_with(layer: Dict[str, Any], **training: Any) -> ExperimentSpec:
    """One hidden layer of 40 neurons; 40 steps of 10 samples are 400 sites."""
    return spec_of(
        network={"layers": [{"neurons": 40, **layer}]},
        training={"epochs": 8, "batch_size": 10, **training},
    )


def saw(
    control: SecondThresholdSchedule, spec: ExperimentSpec, filled: int, dropped: int, most: int
) -> Any:
    metrics = empty_accumulator(spec)
    metrics.add(np.array([10, 1.0, 1, 0, filled, filled, dropped]))
    return control.observe_step(5, metrics, np.array([most], np.float32))


class TestGrowth:
    def test_leaves_room_and_is_logged(self) -> None:
        spec = spec_with({"capacity": {"grow": 3}})
        control = SecondThresholdSchedule(spec)
        assert control.limits(0).capacities == (3,)
        assert saw(control, spec, filled=1000, dropped=0, most=3) == []
        (message,) = saw(control, spec, filled=1200, dropped=400, most=6)
        grows = "its capacity grows from 3 to 12 spikes per step"
        assert message == f"step 5: layers[0] dropped 400 spikes; {grows}"
        assert control.limits(0).capacities == (12,)  # 4 + 4 sqrt(4)
        assert control.metrics(control.limits(0)) == {"capacity/1": 12.0}

    def test_ends_where_it_may_not_grow(self) -> None:
        spec = spec_with({"capacity": {"grow": 3, "most": 5}})
        control = SecondThresholdSchedule(spec)
        assert "from 3 to 5" in saw(control, spec, filled=1200, dropped=400, most=6)[0]
        assert saw(control, spec, filled=2000, dropped=400, most=7) == []
        assert control.limits(0).capacities == (5,)

    def test_a_number_stays(self) -> None:
        spec = spec_with({"capacity": 3})
        control = SecondThresholdSchedule(spec)
        assert saw(control, spec, filled=1200, dropped=400, most=6) == []
        assert control.limits(0).capacities == (3,)


class TestSecondThreshold:
    def test_rises_over_the_epochs(self) -> None:
        ramp = {"start": -1.0, "epochs": 4}
        control = SecondThresholdSchedule(
            spec_with({"second_threshold": 0.6}, second_threshold_ramp=ramp)
        )
        computed = [control.limits(epoch).second_thresholds[0] for epoch in range(6)]
        assert computed == pytest.approx([-1, -0.6, -0.2, 0.2, 0.6, 0.6])

    def test_falls_while_no_neuron_receives_gradients(self) -> None:
        spec = spec_with({"second_threshold": 0.9})
        control = SecondThresholdSchedule(spec)
        (message,) = saw(control, spec, filled=0, dropped=0, most=0)
        assert "no neuron of layers[0] is above its second threshold" in message
        assert control.limits(0).second_thresholds == (pytest.approx(0.8),)
        assert saw(control, spec, filled=0, dropped=0, most=0) == []  # one warning per epoch
        assert control.limits(0).second_thresholds == (pytest.approx(0.6),)

        control.end_epoch()
        assert control.limits(1).second_thresholds == (pytest.approx(0.6),)
        assert saw(control, spec, filled=7, dropped=0, most=1) == []
        control.end_epoch()
        assert control.limits(2).second_thresholds == (pytest.approx(0.8),)
        control.end_epoch()
        control.end_epoch()
        assert control.limits(3).second_thresholds == (0.9,)

    def test_of_each_neuron_is_shown_by_its_mean(self) -> None:
        control = SecondThresholdSchedule(spec_with({"second_threshold": [0.5] * 20 + [0.7] * 20}))
        figures = control.metrics(control.limits(0))
        assert figures == {"second_threshold/1": pytest.approx(0.6)}


def test_state_is_given_back() -> None:
    spec = spec_with({"second_threshold": 0.9, "capacity": {"grow": 3}})
    control, again = SecondThresholdSchedule(spec), SecondThresholdSchedule(spec)
    saw(control, spec, filled=0, dropped=1, most=4)
    again.restore(control.state())
    assert again.limits(0).equals(control.limits(0))
    assert not again.limits(0).equals(SecondThresholdSchedule(spec).limits(0))
    again.end_epoch()
    control.end_epoch()
    assert again.limits(1).equals(control.limits(1))

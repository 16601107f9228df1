"""The cycles of a training step in profile.json: those of a plan, and those that were counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, Optional

import numpy as np
import pytest

from ipulse_core.prediction.step_cycles import Rates, step_cycles
from ipulse_worker.runner.profile.step_cycles import step_cycles_document
from tests.worker.runner.report.tile_documents import document
from tests.worker.runner.specs import spec_from

LAYERS = [{"neurons": 16, "name": "features"}, {"neurons": 12, "second_threshold": 0.5}]


def found(profile: Optional[Dict[str, Any]], **network: Any) -> Optional[Dict[str, Any]]:
    """Return the document of a training whose layers have a rate of 0.1 in the first epoch."""
    spec = spec_of(**network)
    history = SimpleNamespace(epochs=lambda name: [0.1, 0.2])
    training: Any = SimpleNamespace(spec=spec, history=history)
    evaluation: Any = SimpleNamespace(
        metrics=SimpleNamespace(names=["1", "2"]), input_spikes_by_step=np.array([2.0, 3.0])
    )
    return step_cycles_document(training, evaluation, profile)


def spec_of(**network: Any) -> Any:
    return spec_from(
        {
            "version": 1,
            "data": {"kind": "digits"},
            "network": {"layers": LAYERS, **network},
            "device": {"kind": "emulator", "tiles": 16},
        }
    )


def test_the_prediction_is_that_of_a_plan_at_the_activity() -> None:
    step = found(document())
    assert step is not None
    plan = step_cycles(spec_of(), {"1": Rates(0.1, 0.1), "2": Rates(0.1, 0.1)}, 2.5)
    assert plan is not None
    assert step["predicted"]["cycles"] == round(plan.prediction.total)
    assert step["predicted"]["activity"]["input_spikes"] == 2.5
    assert [layer["name"] for layer in step["predicted"]["layers"]][:2] == ["features", "layers[1]"]
    assert step["counted"] == 6020  # both runs of the document


def test_what_is_not_predicted_has_a_reason() -> None:
    step = found(document(), trainable=["decay"])
    assert step is not None
    assert step["predicted"] is None
    assert "trained" in step["not_predicted"]


def test_runs_that_are_not_recorded_whole_are_not_counted() -> None:
    given = document()
    del given["execution"]["runs"][1]  # backward
    step = found(given)
    assert step is not None
    assert step["counted"] is None


@pytest.mark.parametrize("profile", [None, document(emulated=False)])
def test_is_null_unless_emulated_ipus_trained(profile: Optional[Dict[str, Any]]) -> None:
    assert found(profile) is None

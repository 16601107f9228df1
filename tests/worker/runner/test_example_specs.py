"""The specs in examples/ that need no file of their own: each is valid, and trains."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ipulse_worker.runner.cancellation import Cancellation

from .specs import spec_from
from .trainings import recorded_progress, training_of

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

# The runner's own environment reads no YAML: it is given JSON.
yaml = pytest.importorskip("yaml")

EXAMPLES = Path(__file__).parents[3] / "examples"
DIGITS = ["digits", "recurrent", "recurrent_convolution", "spike_count", "cuba"]


def example(name: str) -> ExperimentSpec:
    return spec_from(yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", DIGITS)
def test_an_example_begins_to_learn(name: str) -> None:
    """Two epochs of 400 of the samples, which are too few for more than a beginning."""
    spec = example(name)
    training = dataclasses.replace(spec.training, epochs=2, second_threshold_ramp=None)
    data = dataclasses.replace(spec.data, samples=400)
    run = training_of(dataclasses.replace(spec, data=data, training=training))
    with recorded_progress(run) as (progress, _):
        run.run(progress, Cancellation(), lambda: None)
    losses = run.history.epochs("loss")
    assert losses[1] < losses[0]
    assert run.history.epochs("firing_rate/1")[-1] > 0

"""The reference networks reach most of their accuracy in a few epochs."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.training import accuracy

BY_TITLE = {task.title: task for task in accuracy.TASKS}


@pytest.mark.sample(3)
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.verify)
        if task.program or task.example == "few_samples"
        else title
        for title, task in BY_TITLE.items()
        if task.example != "delayed_recall"  # takes minutes: below
    ],
)
def test_a_few_epochs_suffice_for_most_of_it(title: str, gated: bool) -> None:
    """Chance is a tenth, for Yin-Yang a third."""
    outcome = accuracy.outcome(BY_TITLE[title], gated, seeds=1, quick=True)
    assert outcome.reached, f"{outcome.mean} of seed 1, target {outcome.target}"


@pytest.mark.verify
def test_adaptive_thresholds_recall_what_others_forget() -> None:
    """Chance is a half."""
    adaptive = accuracy.outcome(BY_TITLE["delayed_recall"], False, seeds=1, quick=True)
    other = BY_TITLE["delayed_recall without adaptation"]
    constant = accuracy.outcome(other, False, seeds=1, quick=True)
    assert adaptive.reached, f"{adaptive.mean} of seed 1, target {adaptive.target}"
    assert constant.reached, f"{constant.mean} of seed 1, limit {constant.at_most}"


@pytest.mark.sample(1)
@pytest.mark.parametrize("weights", ["bfloat16", "int8"])
def test_narrow_weights_learn_as_well(weights: str) -> None:
    outcome = accuracy.outcome(BY_TITLE["randman"], True, 1, weights, quick=True)
    assert outcome.reached


def test_a_mean_below_the_target_is_reported() -> None:
    outcome = accuracy.Outcome(
        task="t",
        gradient="dense",
        network="2-3-2",
        weights="float32",
        epochs=1,
        target=0.9,
        accuracies=[0.8, 0.9],
        seconds=1.0,
        processor_seconds=1.0,
        rates=[0.01],
    )
    row = outcome.row()
    assert (row["accuracy"], row["lowest"], row["highest"]) == ("85.00", "80.00", "90.00")
    assert (row["reached"], row["firing_rates"]) == ("no", "1.0")
    good = dataclasses.replace(outcome, accuracies=[0.9, 0.95])
    assert good.row()["reached"] == "yes"

"""The networks still learn: what a broken kernel, gradient or data set would not do."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks import accuracy

BY_TITLE = {task.title: task for task in accuracy.TASKS}


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("title", BY_TITLE)
def test_a_few_epochs_suffice_for_most_of_it(title: str, gated: bool) -> None:
    """Chance is a tenth, for Yin-Yang a third."""
    outcome = accuracy.outcome(BY_TITLE[title], gated, seeds=1, quick=True)
    assert outcome.reached, f"{outcome.mean} of seed 1, wanted {outcome.wanted}"


def test_rounded_weights_learn_as_well() -> None:
    outcome = accuracy.outcome(BY_TITLE["randman"], True, 1, "bfloat16", quick=True)
    assert outcome.reached


def test_the_page_shows_what_was_missed() -> None:
    outcome = accuracy.Outcome(
        task="t",
        gating="dense",
        network="2-3-2",
        weights_dtype="float32",
        epochs=1,
        held_out=10,
        wanted=0.9,
        accuracies=[0.8, 0.9],
        seconds=1.0,
        rates=[0.01],
    )
    assert "| 85.00 % | 80.00 to 90.00 % | 90 %, **missed** | 1.0 % |" in accuracy.page(
        [outcome], 2
    )
    good = dataclasses.replace(outcome, accuracies=[0.9, 0.95])
    assert "missed" not in accuracy.page([good], 2)


def test_the_page_keeps_what_was_not_run_again() -> None:
    before = accuracy.PAGE.read_text(encoding="utf-8")
    again = accuracy.page([], 3, before)
    assert again == before, "run `make accuracy`: the page is not what is written now"

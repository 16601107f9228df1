"""Losses as equations, known ones and random ones."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any, Dict, List, Sequence

from ipulse_core.equations.loss import LossEquations, read_loss
from ipulse_core.equations.neuron import InvalidEquations
from tests.equations import Described, random_expression

Loss = Dict[str, Any]


def loss_document(loss: str, values: Sequence[Sequence[str]] = (), **more: Any) -> Loss:
    """The `loss` of a training; `values` are pairs of names and equations."""
    named = [{"name": name, "value": value} for name, value in values]
    return {"kind": "equations", "loss": loss, "values": named, **more}


def loss_of(document: Loss) -> LossEquations:
    """The loss of a document, with defaults as in the spec."""
    return read_loss(
        Described(
            name=document.get("name", "own"),
            loss=document["loss"],
            prediction=document.get("prediction"),
            values=[Described(**each) for each in document.get("values", ())],
            parameters=[Described(**each) for each in document.get("parameters", ())],
        )
    )


def cross_entropy(score: str = "mean_over_time(membrane)") -> Loss:
    """The cross-entropy of the softmax of a score."""
    return loss_document("-sum(label * log_softmax(score))", [("score", score)])


def squared_spikes() -> Loss:
    """The mean squared distance of spike counts from 10 and 1."""
    return loss_document("mean(square(spike_count - 1 - 9 * label))")


def squared_outputs() -> Loss:
    """The mean squared error of the outputs at the last step."""
    return loss_document("mean(square(out - target))", [("out", "last(membrane)")])


def margin(width: float = 1.0) -> Loss:
    """How far the largest wrong score is from being `width` below the right one, squared."""
    return loss_document(
        "square(max(0, width + wrong - right))",
        [
            ("score", "mean_over_time(membrane)"),
            ("right", "sum(label * score)"),
            ("wrong", "largest(where(label, -1e9, score))"),
        ],
        parameters=[{"name": "width", "value": width}],
    )


def random_loss(random: Random, right: str) -> LossEquations:
    """A loss with moderate values and derivatives; `right` is label, target or step_target."""
    for _ in range(100):
        each = [*("membrane", "t / steps", "classes"), right]
        steps = random_expression(random, each, 2)
        over_time = ["sum_over_time", "mean_over_time", "max_over_time", "last"]
        first = f"tanh({random.choice(over_time)}(membrane + 0.1 * tanh({steps})))"
        known = ["first", right if right != "step_target" else "last(step_target)"]
        of_classes = random_expression(random, known, 2)
        forms: List[str] = [
            f"sum({of_classes} + first) / classes",
            f"mean(first * ({of_classes}))",
            f"logsumexp(first + 0.1 * ({of_classes}))",
            f"largest(first + 0.1 * tanh({of_classes}))",
            f"-sum(last({right} + 0 * t) * log_softmax(first + ({of_classes})))",
            f"sum(softmax(first) * ({of_classes})) + detach(mean(first))",
            f"mean_over_time(sum(square(membrane - {right} * first)))",
        ]
        loss = f"{random.choice(forms)} + 0.1 * ({random.choice(forms)}) + 0 * sum(last({right}+t))"
        with contextlib.suppress(InvalidEquations):  # too many operations
            return loss_of(loss_document(loss, [("first", first)]))
    raise AssertionError("no loss is small enough")

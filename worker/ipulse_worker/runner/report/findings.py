"""The box "What to do next": the findings of a training that deserve an action.

Each rule looks at the facts of the training and returns a finding or None. Limits are constants
here, so that the documentation, the tests and the report agree.
"""

from __future__ import annotations

from typing import Callable, List, Optional, Tuple

from ipulse_worker.runner.report.advice import Advice, no_better_than_the_mean
from ipulse_worker.runner.report.quantities import count, duration, listed, percent
from ipulse_worker.runner.report.training_facts import LayerFacts, TrainingFacts

MOST_FINDINGS = 5
DEAD = 0.2  # share of a layer's neurons
SATURATED = 0.05  # share of a layer's neurons
DROPPED = 0.01  # share of a layer's spikes
OVERFIT = 0.1  # difference of training and test accuracy
RISING = 0.005  # gain of test accuracy in the last fifth of the epochs
FULL_TILE = 0.9  # of a tile's memory
TILE_BALANCE = 0.5
EXCHANGE = 0.3  # share of cycles
FRAMEWORK = 0.25  # share of a step
LONG_COMPILE = 10.0  # seconds


def findings(facts: TrainingFacts) -> List[Advice]:
    """Return at most five findings, the heaviest first."""
    found = [finding for rule in RULES for finding in [rule(facts)] if finding is not None]
    return sorted(found, key=lambda finding: -finding.weight)[:MOST_FINDINGS]


def at_chance(facts: TrainingFacts) -> Optional[Advice]:
    """The network predicts no better than always naming the most frequent class."""
    if facts.accuracy is None or facts.accuracy > facts.chance + facts.chance_margin:
        return None
    return Advice(
        100,
        f"The {facts.held_out} accuracy of {percent(facts.accuracy)} is at chance",
        f"Always naming the most frequent class gives {percent(facts.chance)}.",
        "Raise training.optimizer.learning_rate, check that layers spike, and check the labels.",
        "learning",
    )


def missing_class(facts: TrainingFacts) -> Optional[Advice]:
    """A class has no test sample."""
    if not facts.missing_classes:
        return None
    names = [str(label) for label in facts.missing_classes[:8]]
    are = "Class {} has" if len(facts.missing_classes) == 1 else "Classes {} have"
    return Advice(
        95,
        f"{are.format(listed(names))} no {facts.held_out} sample",
        "The accuracy says nothing about it.",
        "Use more samples or another split of the data.",
        "confusion",
    )


def dead_neurons(facts: TrainingFacts) -> Optional[Advice]:
    """Many neurons of a layer never spike."""
    worst = _worst(facts, lambda layer: layer.dead)
    if worst is None or worst.dead <= DEAD:
        return None
    dead = round(worst.dead * worst.neurons)
    return Advice(
        90 if worst.dead > 0.999 else 80,
        f"{count(dead)} of {count(worst.neurons)} neurons of {worst.title} never spike",
        "They contribute nothing and, below a second threshold, do not learn.",
        f"Raise network.initial_membrane_std or lower {worst.path}.threshold.",
        "activity",
    )


def saturated_neurons(facts: TrainingFacts) -> Optional[Advice]:
    """Many neurons of a layer spike in most steps."""
    worst = _worst(facts, lambda layer: layer.saturated)
    if worst is None or worst.saturated <= SATURATED:
        return None
    return Advice(
        60,
        f"{percent(worst.saturated)} of the neurons of {worst.title} spike in more than half of "
        "all steps",
        "They carry little information and cost the most time.",
        f"Raise {worst.path}.threshold or add a regulariser of kind upper.",
        "activity",
    )


def dropped_spikes(facts: TrainingFacts) -> Optional[Advice]:
    """The capacity of a layer drops spikes."""
    worst = _worst(facts, lambda layer: layer.dropped)
    if worst is None or worst.dropped <= DROPPED:
        return None
    return Advice(
        85,
        f"{_start(worst.title)} dropped {percent(worst.dropped)} of its spikes",
        f"{count(worst.dropped_in_training)} in training and {count(worst.dropped_held_out)} on "
        f"the {facts.held_out} samples exceeded its capacity of {count(worst.capacity or 0)} "
        "spikes per step.",
        f"Set {worst.path}.capacity to {count(worst.needed_capacity)}, which holds 99.9 % of all "
        "steps.",
        "network",
    )


def still_rising(facts: TrainingFacts) -> Optional[Advice]:
    """The test accuracy still rises at the end."""
    gain = facts.late_gain
    if gain is None or gain <= RISING or facts.stopped_early or at_chance(facts):
        return None
    epochs = len(facts.held_out_accuracies)
    return Advice(
        50,
        f"The {facts.held_out} accuracy still rises: {100 * gain:+.1f} points in the last fifth of "
        "the epochs",
        "The training ended before the network had learned what it can.",
        f"Continue with more than {epochs} training.epochs.",
        "learning",
    )


def overfit(facts: TrainingFacts) -> Optional[Advice]:
    """The training accuracy is far above the test accuracy."""
    if facts.training_accuracy is None or facts.accuracy is None:
        return None
    gap = facts.training_accuracy - facts.accuracy
    if gap <= OVERFIT:
        return None
    return Advice(
        55,
        f"The training accuracy is {100 * gap:.1f} points above the {facts.held_out} accuracy",
        "The network memorises its training samples.",
        "Use more samples, data augmentation, fewer neurons, or training.early_stopping.",
        "learning",
    )


def unlimited_gradients(facts: TrainingFacts) -> Optional[Advice]:
    """Every neuron carries a gradient, because no second threshold or gate is set."""
    layers = [
        layer for layer in facts.layers if layer.second_threshold is None and layer.gradient_limit
    ]
    full = [layer for layer in layers if layer.active_fraction > 0.999]
    if not full or facts.backward_share is None:
        return None
    return Advice(
        30,
        f"All neurons of {listed([layer.title for layer in full])} carry a gradient in every step",
        f"The backward pass takes {percent(facts.backward_share)} of a step, and its work grows "
        "with this fraction.",
        f"Try {full[0].path}.{full[0].gradient_limit} and compare accuracy and time.",
        "gradients",
    )


def full_tile(facts: TrainingFacts) -> Optional[Advice]:
    """A tile has little memory left."""
    if facts.fullest_tile is None or facts.fullest_tile <= FULL_TILE:
        return None
    return Advice(
        70,
        f"The fullest tile uses {percent(facts.fullest_tile)} of its memory",
        "A slightly larger network or batch no longer fits.",
        "Use a smaller training.batch_size or capacity, or more IPUs.",
        "tiles",
    )


def tile_balance(facts: TrainingFacts) -> Optional[Advice]:
    """Most tiles wait for the busiest one."""
    if facts.tile_balance is None or facts.tile_balance >= TILE_BALANCE:
        return None
    return Advice(
        35,
        f"While tiles compute, the mean tile works {percent(facts.tile_balance)} of the time",
        "The others wait for the busiest one.",
        "Use a larger batch or layers with neurons that divide evenly among the tiles.",
        "tiles",
    )


def exchange(facts: TrainingFacts) -> Optional[Advice]:
    """Much of the time is spent on exchange."""
    if facts.exchange_share is None or facts.exchange_share <= EXCHANGE:
        return None
    return Advice(
        40,
        f"Exchange takes {percent(facts.exchange_share)} of the cycles",
        "Spikes and gradients travel between tiles.",
        "Lower the capacities of the layers, which limit the spikes that are sent.",
        "tiles",
    )


def framework_share(facts: TrainingFacts) -> Optional[Advice]:
    """TensorFlow takes a large part of a step."""
    if facts.framework_share is None or facts.framework_share <= FRAMEWORK:
        return None
    on_cpu = facts.device == "cpu"
    return Advice(
        25,
        f"TensorFlow around the kernels takes {percent(facts.framework_share)} of a step",
        "Steps are so short that calling them costs more than computing them.",
        "Raise training.batch_size." if on_cpu else "Raise device.steps_per_execution.",
        "time",
    )


def long_compile(facts: TrainingFacts) -> Optional[Advice]:
    """Compiling took longer than training."""
    compiled, run = facts.compile_seconds, facts.run_seconds
    if compiled <= max(run, LONG_COMPILE):
        return None
    on_cpu = facts.device == "cpu"
    return Advice(
        20,
        f"Compiling took {duration(compiled)}, longer than training ({duration(run)})",
        "The kernels of a machine are built once; the next job loads them."
        if on_cpu
        else "Compiled programs are cached, and used again for equal networks.",
        "Keep the worker's cache folder."
        if on_cpu
        else "Keep the worker's cache folder and change only settings that are not compiled in.",
        "time",
    )


Rule = Callable[[TrainingFacts], Optional[Advice]]
RULES: Tuple[Rule, ...] = (
    *(
        at_chance,
        no_better_than_the_mean,
        missing_class,
        dead_neurons,
        saturated_neurons,
        dropped_spikes,
    ),
    *(still_rising, overfit, unlimited_gradients),
    *(full_tile, tile_balance, exchange, framework_share, long_compile),
)


def _worst(facts: TrainingFacts, share: Callable[[LayerFacts], float]) -> Optional[LayerFacts]:
    return max(facts.layers, key=share, default=None)


def _start(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith("the ") else text

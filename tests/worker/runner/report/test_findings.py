from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from ipulse_worker.runner.report.findings import DEAD, MOST_FINDINGS, RULES, findings
from ipulse_worker.runner.report.training_facts import LayerFacts, TrainingFacts

ROOT = Path(__file__).parents[4]
LAYER = LayerFacts("layers[0]", "network.layers[0]", 100, second_threshold=0.5, active_fraction=0.2)
CALM = TrainingFacts(
    held_out="test",
    device="cpu",
    accuracy=0.97,
    samples=400,
    chance=0.1,
    training_accuracy=0.98,
    held_out_accuracies=[0.5, 0.8, 0.97, 0.97, 0.97],
    layers=[LAYER],
    compile_seconds=1.0,
    run_seconds=60.0,
    backward_share=0.4,
    framework_share=0.1,
    fullest_tile=0.5,
    tile_balance=0.8,
    exchange_share=0.1,
)


def layer(**changes: Any) -> Dict[str, Any]:
    return {"layers": [LAYER, replace(LAYER, title="layers[1]", **changes)]}


# A rule, facts that trigger it, facts just below its limit, and a text of the finding.
CASES = [
    ("at_chance", {"accuracy": 0.12}, {"accuracy": 0.14}, "12.0 %"),
    ("no_better_than_the_mean", {"r2": -0.01}, {"r2": 0.01}, "-0.010"),
    ("missing_class", {"missing_classes": (3,)}, {"missing_classes": ()}, "Class 3"),
    ("dead_neurons", layer(dead=0.21), layer(dead=0.2), "21 of 100 neurons of layers[1]"),
    ("saturated_neurons", layer(saturated=0.06), layer(saturated=0.05), "6.0 %"),
    (
        "dropped_spikes",
        layer(dropped=0.02, capacity=6, needed_capacity=13),
        layer(dropped=0.01, capacity=6, needed_capacity=13),
        "layers[1] dropped 2.0 %",
    ),
    (
        "still_rising",
        {"held_out_accuracies": [0.1, 0.3, 0.5, 0.8, 0.82]},
        {"held_out_accuracies": [0.1, 0.3, 0.5, 0.82, 0.82]},
        "+2.0 points",
    ),
    ("overfit", {"training_accuracy": 1.08}, {"training_accuracy": 1.06}, "11.0 points"),
    (
        "unlimited_gradients",
        layer(second_threshold=None, active_fraction=1.0),
        layer(second_threshold=0.5, active_fraction=1.0),
        "layers[1]",
    ),
    ("full_tile", {"fullest_tile": 0.91}, {"fullest_tile": 0.9}, "91.0 %"),
    ("tile_balance", {"tile_balance": 0.49}, {"tile_balance": 0.5}, "49.0 %"),
    ("exchange", {"exchange_share": 0.31}, {"exchange_share": 0.3}, "31.0 %"),
    ("framework_share", {"framework_share": 0.26}, {"framework_share": 0.25}, "26.0 %"),
    ("long_compile", {"compile_seconds": 61.0}, {"compile_seconds": 60.0}, "61.0 s"),
]


def test_every_rule_has_a_case() -> None:
    assert [rule.__name__ for rule in RULES] == [name for name, *_ in CASES]


@pytest.mark.parametrize(("name", "over", "below", "text"), CASES)
def test_a_rule_holds_above_its_limit_only(
    name: str, over: Dict[str, Any], below: Dict[str, Any], text: str
) -> None:
    (rule,) = [rule for rule in RULES if rule.__name__ == name]
    found = rule(replace(CALM, **over))
    assert found is not None
    assert text in found.title
    assert rule(replace(CALM, **below)) is None
    assert found in findings(replace(CALM, **over))


def test_nothing_stands_out_of_a_calm_training() -> None:
    assert findings(CALM) == []


def test_the_heaviest_five_are_shown() -> None:
    changes: Dict[str, Any] = {}
    for name, over, _, _ in CASES:
        if name not in ("still_rising", "dead_neurons", "saturated_neurons"):
            changes.update(over)
    found = findings(replace(CALM, **changes))
    assert len(found) == MOST_FINDINGS
    weights = [finding.weight for finding in found]
    assert weights == sorted(weights, reverse=True)
    assert "at chance" in found[0].title


def test_a_gate_is_proposed_where_there_is_no_second_threshold() -> None:
    def advice(limit: Optional[str]) -> List[str]:
        changes = layer(second_threshold=None, active_fraction=1.0, gradient_limit=limit)
        return [found.action for found in findings(replace(CALM, **changes))]

    [action] = advice("gate: -0.5")
    assert "gate: -0.5" in action
    assert "second_threshold" not in action
    assert advice(None) == []


def test_the_accuracy_of_a_stopped_training_is_not_called_rising() -> None:
    rising = replace(CALM, held_out_accuracies=[0.1, 0.3, 0.5, 0.8, 0.97])
    assert findings(rising)
    assert not findings(replace(rising, stopped_early=True))


def test_the_web_page_warns_of_as_many_dead_neurons() -> None:
    views = ROOT / "service/ipulse_service/http/web/static/views"
    limit = re.search(r"MOST_DEAD = ([\d.]+);", (views / "job/overview.js").read_text("utf-8"))
    assert limit is not None
    assert float(limit[1]) == DEAD

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ipulse_worker.runner.report.headline import scores
from tests.worker.runner.specs import spec_from


@pytest.mark.parametrize("part", ["test", "validation"])
def test_the_score_is_of_the_samples_that_it_was_measured_on(part: str) -> None:
    network = {"layers": [{"neurons": 4}]}
    data = {"kind": "yin_yang", "judged_on": part}
    training = {"epochs": 1}
    results: Any = SimpleNamespace(
        spec=spec_from({"version": 1, "data": data, "network": network, "training": training}),
        evaluation=SimpleNamespace(metrics=SimpleNamespace(sums=[10, 0.0, 5], score=0.5)),
        history=SimpleNamespace(epochs=lambda name: [1.0]),
        kept_epoch=1,
    )
    [(title, value, _)] = scores(results)
    assert title.lower().startswith(part)
    assert value == "50.0 %"

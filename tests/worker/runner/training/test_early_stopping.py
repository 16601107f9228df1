from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest

from ipulse_worker.runner.training.early_stopping import EarlyStopping
from tests.worker.runner import specs as spec


def watch(figures: List[float], **settings: Any) -> EarlyStopping:
    """After epochs with these figures; what was trained in epoch n is [n]."""
    metric = settings.setdefault("metric", "test_loss")
    stopping = EarlyStopping(spec.EarlyStopping(**settings), [np.zeros(1)])
    for epoch, figure in enumerate(figures, start=1):
        assert not stopping.stopped
        stopping.update(epoch, {metric: figure}, [np.array([float(epoch)])])
    return stopping


class TestEarlyStopping:
    def test_stops_after_patience_without_improvement(self) -> None:
        assert not watch([3, 2, 2, 2.5], patience=3).stopped
        stopping = watch([3, 2, 2, 2.5, 2], patience=3)
        assert stopping.stopped
        assert stopping.best_epoch == 2
        assert stopping.kept[0].tolist() == [2.0]
        assert stopping.why == "test_loss has not improved for 3 epochs; it was best after epoch 2"

    def test_an_improvement_must_be_larger_than_min_delta(self) -> None:
        assert watch([3, 2.75, 2.5], patience=2, min_delta=0.5).stopped
        assert not watch([3, 2.75, 2.25], patience=2, min_delta=0.5).stopped

    @pytest.mark.parametrize("metric", ["accuracy", "test_accuracy"])
    def test_accuracies_rise(self, metric: str) -> None:
        assert watch([0.5, 0.6, 0.5], patience=3, metric=metric).best_epoch == 2
        assert watch([0.5, 0.4], patience=1, metric=metric).stopped

    def test_keeps_nothing_unless_asked(self) -> None:
        stopping = watch([3, 2, 4], patience=2, restore_best=False)
        assert not stopping.restores
        assert stopping.kept[0].tolist() == [0.0]

    def test_state_is_given_back(self) -> None:
        stopping = watch([3, 2, 4], patience=2)
        again = watch([], patience=2)
        again.restore(stopping.state())
        again.update(4, {"test_loss": 2.0}, [np.array([4.0])])
        assert again.stopped
        assert again.kept[0].tolist() == [2.0]

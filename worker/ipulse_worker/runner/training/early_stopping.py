"""Early stopping of a training, and the choice of the weights to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence

import numpy as np

from ipulse_worker.runner.model.state import State, in_order, numbered, part, within

if TYPE_CHECKING:
    from ipulse import spec


class EarlyStopping:
    """Monitors one metric after every epoch."""

    def __init__(self, settings: spec.EarlyStoppingSpec, trained: Sequence[np.ndarray]) -> None:
        """Start without an epoch.

        Args:
            settings: of the spec.
            trained: the trained arrays, whose shapes the kept ones have.
        """
        self._settings = settings
        self._best = float("nan")
        self._waited = 0  # epochs without an improvement
        self.best_epoch = 0  # from 1; 0 before the first
        self._kept: List[np.ndarray] = [np.array(array) for array in trained]

    def update(self, epoch: int, values: Dict[str, float], trained: Sequence[np.ndarray]) -> None:
        """Compare an epoch's metrics with the best so far; keep its arrays if they are better."""
        value = values[self._settings.metric]
        sign = 1 if self._settings.metric.endswith("accuracy") else -1
        if self.best_epoch == 0 or sign * (value - self._best) > self._settings.min_delta:
            self._best, self.best_epoch, self._waited = value, epoch, 0
            if self._settings.restore_best:
                self._kept = [np.array(array) for array in trained]
        else:
            self._waited += 1

    @property
    def stopped(self) -> bool:
        """Return whether the patience is used up."""
        return self._waited >= self._settings.patience

    @property
    def why(self) -> str:
        """The reason of the stop, for the log."""
        return (
            f"{self._settings.metric} has not improved for {self._waited:,} epochs; it was best "
            f"after epoch {self.best_epoch:,}"
        )

    @property
    def restores(self) -> bool:
        """Return whether the best epoch's weights are restored at the end."""
        return self._settings.restore_best and self.best_epoch > 0

    @property
    def kept(self) -> List[np.ndarray]:
        """The trained arrays after the best epoch."""
        return self._kept

    def wait_again(self) -> None:
        """Begin to wait anew if the patience is used up: another job continues the training."""
        if self.stopped:
            self._waited = 0

    def state(self) -> State:
        """Return the state for a checkpoint."""
        return {
            "best": np.array(self._best),
            "waited": np.array(self._waited),
            "best_epoch": np.array(self.best_epoch),
            **within("kept", numbered(self._kept)),
        }

    def restore(self, state: State) -> None:
        """Set the state from a checkpoint."""
        self._best = float(state["best"])
        self._waited = int(state["waited"])
        self.best_epoch = int(state["best_epoch"])
        self._kept = in_order(part("kept", state))

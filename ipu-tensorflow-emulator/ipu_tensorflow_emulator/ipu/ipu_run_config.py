"""`ipu.ipu_run_config`: the configuration of estimators."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect
from ipu_tensorflow_emulator.tensorflow_setup import has_estimators


class IPURunConfig:
    """How often a program runs its step, and on how many IPUs."""

    def __init__(
        self,
        iterations_per_loop: int = 1,
        ipu_options: Any = None,
        num_replicas: int = 1,
        num_shards: int = 1,
        **more: Any,
    ) -> None:
        """Store the options. Raises ValueError for fewer than one iteration."""
        if iterations_per_loop < 1:
            raise ValueError("iterations_per_loop must be a positive number")
        self.iterations_per_loop, self.ipu_options = iterations_per_loop, ipu_options
        self.num_replicas, self.num_shards = num_replicas, num_shards


_Base: Any = tf.compat.v1.estimator.RunConfig if has_estimators() else object


class RunConfig(_Base):  # type: ignore[misc] # TensorFlow has no types
    """The configuration of an estimator; where TensorFlow has none, it stores options only."""

    def __init__(self, ipu_run_config: Any = None, **more: Any) -> None:
        """Store the options. Strategies of several processes have no effect: there is one."""
        for name in ("train_distribute", "eval_distribute"):
            if more.pop(name, None) is not None:
                has_no_effect(f"RunConfig({name}=)")
        if has_estimators():
            super().__init__(**more)
        self.ipu_run_config, self.options = ipu_run_config or IPURunConfig(), more

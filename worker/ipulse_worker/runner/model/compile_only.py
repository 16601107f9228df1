"""Training steps without a device, for connection types that only compile."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
import tensorflow as tf

from ipulse_core.errors import Conflict
from ipulse_core.spec.derived_values import spiking_layers
from ipulse_worker.runner.model.batches import BatchEvaluation, StepResult
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.objective import Objective


class CompilationOnly(Conflict):
    """The device is configured for compilation only (connection_type NEVER)."""

    code = "compilation_only"


class CompileOnlyModel:
    """Imitates a device that is not attached: zeros for PRE_COMPILE, an error for NEVER."""

    def __init__(self, model: Model, connection: str) -> None:
        self._model = model
        self._connection = connection

    def compute_gradients(self) -> StepResult:
        """Return zeros for a training step, or raise CompilationOnly."""
        self._check()
        spiking = len(spiking_layers(self._model.spec.network))
        gradients = [tf.zeros(weight.shape, tf.float32) for weight in self._model.trained]
        return StepResult(gradients, np.zeros(4 + 3 * spiking), np.zeros(spiking, np.float32))

    def evaluate(self, samples: int) -> BatchEvaluation:
        """Return zeros for an evaluation of `samples` samples, or raise CompilationOnly."""
        self._check()
        by_step = np.zeros(
            (len(spiking_layers(self._model.spec.network)), self._model.spec.data.steps)
        )
        sums = np.zeros(4 + 3 * len(by_step))
        labels = Objective(self._model.spec).label_signature(None)
        predicted = np.zeros((samples, *labels.shape[1:]), labels.dtype.as_numpy_dtype)
        return BatchEvaluation(sums, predicted, by_step, by_step)

    def _check(self) -> None:
        if self._connection == "NEVER":
            raise CompilationOnly()


def execution_outcome(model: Model, connection: str) -> Dict[str, Any]:
    """Return the result of one step for executable.json."""
    try:
        result = CompileOnlyModel(model, connection).compute_gradients()
    except CompilationOnly as error:
        return {"refused": error.message}
    return {"outputs": "zeros", "loss": float(result.sums[1])}

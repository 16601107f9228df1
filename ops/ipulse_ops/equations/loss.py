"""Evaluates a loss or penalty with equations, and its gradient, in NumPy with float64.

Sums are taken in the order of their terms, and exp, log and tanh are of exact_math: the bits are
equal on every CPU.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Set

import numpy as np

from ipulse_core.equations.axes import CLASSES, neurons_of, units
from ipulse_core.equations.loss import (
    CLASS_COUNT,
    LABEL,
    MEMBRANE,
    RIGHT,
    STEP,
    STEP_COUNT,
    STEP_TARGET,
    LossEquations,
)
from ipulse_core.equations.loss_program import (
    LOSS,
    PREDICTION,
    by_readout,
    loss_program,
    spread_to,
)
from ipulse_ops.equations.interpreter import FUNCTIONS, Function, run_step

_TIME, _CLASSES = 0, 2  # axes of [time, batch, classes]


class LossValues(NamedTuple):
    """The results of a loss for a batch."""

    loss: np.ndarray  # float64 [batch]
    prediction: np.ndarray  # float64 [batch, classes], or [batch, time, classes] of each step
    gradients: Dict[str, np.ndarray]  # of what is read of the network, in its shape


class LossEvaluator:
    """Computes a loss, its prediction and its gradients.

    classes: readout neurons.
    steps: time steps of a sample.
    kind: type of the numbers; with float32 each operation is rounded, as on the tiles of an IPU,
        and `exp`, `log` and `tanh` are the nearest numbers.
    """

    def __init__(
        self, equations: LossEquations, classes: int, steps: int, kind: Any = np.float64
    ) -> None:
        self.equations = equations
        self.program = loss_program(equations)
        self.classes, self.steps = classes, steps
        self._kind = kind
        self._functions = {**FUNCTIONS, **_functions(classes, steps, kind)}
        for neurons in layer_sizes(equations):
            self._functions[spread_to(neurons)] = _spread(neurons)

    def __call__(self, readout: Mapping[str, np.ndarray], right: np.ndarray) -> LossValues:
        """Evaluate the loss.

        readout: what the loss reads of the network, by name: the membrane `[time, batch, classes]`,
            values of a layer, by LayerValue.key, `[time, batch, neurons]`, and others
            `[batch, classes]`.
        right: integer labels `[batch]`, or targets `[batch, classes]`, those of each step
            `[batch, time, classes]`.
        """
        batch = len(right)
        inputs: Dict[str, Any] = {
            CLASS_COUNT: self._kind(self.classes),
            STEP_COUNT: self._kind(self.steps),
            STEP: np.arange(self.steps, dtype=self._kind)[:, None, None],
        }
        for name, values in readout.items():
            wide = np.asarray(values, self._kind)
            inputs[name] = wide if has_steps(name) else wide[None]
        for name in RIGHT:
            if name in self.equations.reads:
                inputs[name] = self._compared(name, right)
        found = run_step(self.program, inputs, self._functions)
        loss = np.broadcast_to(found[LOSS], (1, batch, 1)).reshape(batch)
        return LossValues(loss, self._predicted(found[PREDICTION], batch), self._by(found, readout))

    def _compared(self, name: str, right: np.ndarray) -> np.ndarray:
        if name == LABEL:
            found = right[None, :, None] == np.arange(self.classes)
            return np.asarray(found, self._kind)
        wide = np.asarray(right, self._kind)
        return np.asarray(wide.transpose(1, 0, 2) if name == STEP_TARGET else wide[None])

    def _predicted(self, found: np.ndarray, batch: int) -> np.ndarray:
        if STEP_TARGET in self.equations.reads:
            shape = (self.steps, batch, self.classes)
            return np.asarray(np.broadcast_to(found, shape).transpose(1, 0, 2))
        return np.asarray(np.broadcast_to(found, (1, batch, self.classes))[0])

    def _by(
        self, found: Mapping[str, np.ndarray], readout: Mapping[str, np.ndarray]
    ) -> Dict[str, np.ndarray]:
        grads = {}
        for name, values in readout.items():
            shape = values.shape if has_steps(name) else (1, *values.shape)
            grads[name] = np.broadcast_to(found[by_readout(name)], shape).reshape(values.shape)
        return grads


def has_steps(name: str) -> bool:
    """Return whether what a loss reads of the network by a name has a value for each step."""
    return name == MEMBRANE or "." in name


def layer_sizes(equations: LossEquations) -> Set[int]:
    """Return the numbers of neurons, where they are no classes, of the layers that are read."""
    found = {units(value.axes) for _, value in equations.layers}
    return {neurons_of(axis) for axis in found if axis not in (None, CLASSES)}


def _spread(count: int) -> Function:
    return lambda x: np.broadcast_to(x, (*_three(x)[:_CLASSES], count))


def _functions(classes: int, steps: int, kind: Any) -> Dict[str, Function]:
    def at_last(x: np.ndarray) -> np.ndarray:
        found = np.zeros((steps, *x.shape[1:]), kind)
        found[-1] = x[-1]
        return found

    def logsumexp(x: np.ndarray) -> np.ndarray:
        most = x.max(axis=_CLASSES, keepdims=True)
        total = _summed(np.asarray(FUNCTIONS["exp"](x - most), kind), _CLASSES)
        return np.asarray(most + np.asarray(FUNCTIONS["log"](total), kind))

    return {
        "sum": lambda x: _summed(x, _CLASSES),
        "sum_over_time": lambda x: _summed(x, _TIME),
        "largest": lambda x: x.max(axis=_CLASSES, keepdims=True),
        "max_over_time": lambda x: x.max(axis=_TIME, keepdims=True),
        "last": lambda x: x[-1:],
        "logsumexp": logsumexp,
        "spread": _spread(classes),
        "spread_over_time": lambda x: np.broadcast_to(x, (steps, *_three(x)[1:])),
        "at_last": lambda x: at_last(np.reshape(x, _three(x))),
    }


def _summed(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the sum, term after term, in the type of the terms."""
    if axis == _TIME:  # one step after the other takes less memory
        total = np.array(x[:1])
        for step in x[1:]:
            total[0] += step
        return total
    return np.add.accumulate(x, axis=axis).take([-1], axis=axis)


def _three(x: np.ndarray) -> Any:
    """Return the shape of an array, with three axes also for a number."""
    return x.shape or (1, 1, 1)

"""Runs the instructions of a step on NumPy arrays."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

import numpy as np

from ipulse_core.equations.step_program import StepProgram
from ipulse_ops import exact_math

_SMALL = 0.05  # below, tanh is a series
_TANH = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835)
_MOST = 700.0  # beyond, exp is 0 or infinite
Function = Callable[..., Any]


def run_step(
    program: StepProgram,
    inputs: Mapping[str, Any],
    functions: Optional[Mapping[str, Function]] = None,
) -> Dict[str, np.ndarray]:
    """Return the outputs of a step in the type of its inputs, float64 or float32.

    functions: by operation; by default FUNCTIONS.
    """
    known = FUNCTIONS if functions is None else functions
    kind = np.result_type(*inputs.values())
    values: List[Any] = []
    with np.errstate(all="ignore"):  # what is not finite is found by those who call
        for operation, arguments, value, name in program.instructions:
            if operation == "constant":
                values.append(np.asarray(value, kind))
            elif operation == "input":
                values.append(np.asarray(inputs[name], kind))
            else:
                found = known[operation](*(values[number] for number in arguments))
                values.append(np.asarray(found, kind))
    return {name: values[number] for name, number in program.outputs.items()}


def _exp(x: np.ndarray) -> np.ndarray:
    bounded = np.clip(np.where(np.isnan(x), 0.0, x), -_MOST, _MOST)
    inside = np.where(x < -_MOST, 0.0, exact_math.exp(bounded))
    result = np.where(x > _MOST, np.inf, inside)
    return np.asarray(np.where(np.isnan(x), np.nan, result))


def _log(x: np.ndarray) -> np.ndarray:
    is_usual = (x > 0) & (x < np.inf)
    result = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan))
    return np.asarray(np.where(is_usual, exact_math.log(np.where(is_usual, x, 1.0)), result))


def _tanh(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, np.float64)
    fall = _exp(-2 * np.abs(x))
    large = np.copysign((1 - fall) / (1 + fall), x)
    square = x * x
    series = np.full(x.shape, _TANH[-1])
    for coefficient in _TANH[-2::-1]:
        series = series * square + coefficient
    return np.asarray(np.where(np.abs(x) < _SMALL, x * series, large))


FUNCTIONS: Dict[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negate": np.negative,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "min": lambda a, b: np.where(a <= b, a, b),
    "max": lambda a, b: np.where(a >= b, a, b),
    "where": lambda c, a, b: np.where(c != 0, a, b),
    "abs": np.abs,
    "square": lambda a: a * a,
    "sqrt": np.sqrt,
    "exp": lambda a: _exp(np.asarray(a, np.float64)),
    "log": lambda a: _log(np.asarray(a, np.float64)),
    "tanh": _tanh,
    "detach": lambda a: a,
    "spike": lambda a: a > 0,
}

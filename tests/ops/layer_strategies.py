"""Hypothesis strategies for the fields of layers."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
from hypothesis import strategies as st

from ipulse_ops.reference.select_spikes import POLICIES


@st.composite
def _spiking_fields(
    draw: Any, rng: np.random.Generator, neurons: int, dyadic: bool, variants: bool, adapts: bool
) -> Dict[str, Any]:
    capacity = draw(st.none() | st.just(1) | st.just(neurons) | st.integers(1, neurons))
    gate = draw(st.booleans())
    threshold = _constants(rng, neurons, 0.5, 1.5, dyadic)
    fields = {
        **draw(_integrator_fields(rng, neurons, dyadic, variants)),
        "threshold": threshold,
        "second_threshold": threshold / 2 if gate else None,
        "capacity": capacity,
    }
    if variants:
        fields["recurrent"] = draw(st.booleans())
        fields["policy"] = draw(st.sampled_from(POLICIES))
        if adapts and draw(st.booleans()):
            fields.update(_adaptation(rng, neurons, dyadic))
            fields["detach_adaptation"] = draw(st.booleans())
    return fields


def _adaptation(rng: np.random.Generator, neurons: int, dyadic: bool) -> Dict[str, Any]:
    if dyadic:
        return {
            "adaptation_strength": rng.choice([0.25, 0.5], size=neurons),
            "adaptation_decay": rng.choice([0.0, 0.5], size=neurons),
        }
    return {
        "adaptation_strength": _float32_values(rng.uniform(0.05, 0.6, size=neurons)),
        "adaptation_decay": _float32_values(rng.uniform(0, 0.97, size=neurons)),
    }


@st.composite
def _integrator_fields(
    draw: Any, rng: np.random.Generator, neurons: int, dyadic: bool, variants: bool
) -> Dict[str, Any]:
    fields: Dict[str, Any] = {
        "neurons": neurons,
        "decay": _decays(rng, neurons, dyadic),
        "gain": _gains(rng, neurons, dyadic),
    }
    if variants:
        fields["bias"] = draw(st.booleans())
        if draw(st.booleans()):
            # Another 0.75 would be two more bits a step: too many for float32.
            decays = rng.choice([0.0, 0.5], size=neurons)
            fields["synapse_decay"] = decays if dyadic else _decays(rng, neurons, dyadic)
    return fields


def _decays(rng: np.random.Generator, neurons: int, dyadic: bool) -> np.ndarray:
    if dyadic:
        return rng.choice([0.0, 0.5, 0.75], size=neurons)
    # Some neurons without memory.
    decays = rng.uniform(0.3, 0.97, size=neurons) * (rng.random(neurons) > 0.1)
    return _float32_values(decays)


def _gains(rng: np.random.Generator, neurons: int, dyadic: bool) -> np.ndarray:
    if dyadic:
        return rng.choice([2.0, 4.0], size=neurons)
    return _float32_values(rng.uniform(1, 10, size=neurons))


def _constants(
    rng: np.random.Generator, neurons: int, low: float, high: float, dyadic: bool
) -> np.ndarray:
    if dyadic:
        return rng.choice([0.5, 0.75, 1.0, 1.25], size=neurons)
    return _float32_values(rng.uniform(low, high, size=neurons))


def _float32_values(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32).astype(np.float64)

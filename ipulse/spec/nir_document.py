"""The spec of an imported NIR file: its network, and data and a loss that it is valid with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.versions import lower, raise_to_2
from ipulse_core.spec.conv_layers import CONV_KINDS

from .experiment import parse_spec

# Losses by a word of what network.nir says about its logits.
_LOSSES = {
    "mean": "mean_membrane_cross_entropy",
    "largest": "max_membrane_cross_entropy",
    "number": "spike_count_cross_entropy",
}
_MAX_STEPS = 10_000
_MAX_NAME = 100


def name_from(text: str) -> str:
    """Return the name of an experiment, of its data and its weights, from that of a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip("._-")[:_MAX_NAME] or "network"


def nir_document(
    found: Mapping[str, Any],
    name: str,
    initial: Mapping[str, Any],
    base: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the spec of an imported network, in version 2.

    Args:
        found: What `python -m ipulse_core.nir` prints.
        name: As `name_from` returns.
        initial: `network.initial` of the spec.
        base: A valid spec with the data, training and device to use; its layers are replaced.

    Raises:
        InvalidSpec: With the places in version 2, if no spec may have such a network.
    """
    network = {**found["network"], "initial": dict(initial)}
    if base is None:
        return _checked(_with_guesses(found, network, name))
    document = lower(dict(base))
    return _checked({**document, "network": {**document["network"], **network}})


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    raised: dict[str, Any] = raise_to_2(document)
    parse_spec(raised)
    return raised


def _with_guesses(found: Mapping[str, Any], network: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a spec of version 1 with data and a loss that suit a network."""
    outputs = found["classes"]
    has_spikes = network["readout"]["kind"] == "spiking"
    time = {"step_ms": found["step_ms"], "steps": _steps(found)}
    shape = found["input_shape"]
    sizes: dict[str, Any] = {"channels": found["inputs"]}
    sizes["outputs" if outputs == 1 and not has_spikes else "classes"] = outputs
    if any(layer.get("kind") in CONV_KINDS for layer in network["layers"]):
        sizes["shape"] = shape if len(shape) == 3 else [shape[0], 1, shape[1]]
    loss = _loss(str(found["metadata"].get("logits", "")), outputs, has_spikes)
    document = {
        "version": 1,
        "name": name,
        "data": {"kind": "npz", "name": name, **sizes, **time},
        "network": network,
        "training": {"epochs": 10, **({"loss": loss} if loss else {})},
    }
    if (found["inputs"], outputs) == (64, 10) and sizes.get("shape", [1, 8, 8]) == [1, 8, 8]:
        guess = {**document, "data": {"kind": "digits", **time}}
        with suppress(InvalidSpec):
            parse_spec(guess)
            return guess
    return document


def _steps(found: Mapping[str, Any]) -> int:
    """Return the steps of a sample: those of the file, or enough for the longest delay."""
    steps = found["metadata"].get("steps")
    if isinstance(steps, int) and 1 <= steps <= _MAX_STEPS:
        return steps
    return min(max(100, 2 * _longest_delay(found["network"])), _MAX_STEPS)


def _loss(logits: str, outputs: int, has_spikes: bool) -> str | None:
    """Return the loss of a readout; None for that of specs."""
    if outputs == 1:
        return "spike_count_mse" if has_spikes else "mean_membrane_mse"
    if has_spikes:
        return "spike_count_cross_entropy"
    if "at each step" in logits:
        return "step_cross_entropy"
    return _LOSSES.get(logits.split(" ")[0])


def _longest_delay(network: Mapping[str, Any]) -> int:
    """Return the longest delay of a network in steps."""
    delays: list[int] = [network.get("delay", 0)]
    for layer in (*network["layers"], network["readout"]):
        delays += [layer.get("delay", 0), layer.get("delays", {}).get("longest", 0)]
    return max(delays)

"""The difference of the profiles of two jobs: seconds of phases, steps and layers, and memory."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from ipulse_core.pva.difference import Change

_PASSES = ("forward", "backward")


class JobDifference:
    """The differences of two `profile.json`: every value of both, in the order of the profile."""

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Compare two documents.

        Raises:
            LookupError, TypeError, AttributeError: a document is not a profile of a job.
        """
        self.speed = _changes(_speed(before), _speed(after))
        self.phases = _changes(_phases(before), _phases(after))
        self.step = _changes(_step(before), _step(after))
        self.layers = _changes(_layers(before), _layers(after))
        self.memory = _changes(_memory(before), _memory(after))


def _changes(before: Mapping[str, float], after: Mapping[str, float]) -> List[Change]:
    names = dict.fromkeys((*before, *after))
    return [Change(name, before.get(name), after.get(name)) for name in names]


def _run(document: Mapping[str, Any]) -> Mapping[str, Any]:
    runs = document["execution"]["runs"]
    first: Mapping[str, Any] = runs[0] if runs else {}
    return first


def _speed(document: Mapping[str, Any]) -> Dict[str, float]:
    speed = _run(document).get("samples_per_second")
    return {} if speed is None else {"samples_per_second": float(speed)}


def _phases(document: Mapping[str, Any]) -> Dict[str, float]:
    return {each["name"]: float(each["seconds"]) for each in document["execution"]["phases"]}


def _step(document: Mapping[str, Any]) -> Dict[str, float]:
    """Return the mean seconds of the parts of a training step."""
    steps = _run(document).get("steps") or {}
    parts = [(each["name"], each["seconds"].get("mean")) for each in steps.get("parts", ())]
    return {name: float(mean) for name, mean in parts if mean is not None}


def _layers(document: Mapping[str, Any]) -> Dict[str, float]:
    timed = (_run(document).get("layers") or {}).get("layers") or ()
    return {f"{_layer_name(each)}, {name}": float(each[name]) for each in timed for name in _PASSES}


def _layer_name(timed: Mapping[str, Any]) -> str:
    """Return a layer's name; jobs of earlier releases have its number only."""
    layer = timed["layer"]
    return str(timed.get("name") or (f"layer {layer}" if isinstance(layer, int) else layer))


def _memory(document: Mapping[str, Any]) -> Dict[str, float]:
    return {name: float(each["bytes"]) for name, each in document["memory"].items()}

"""The capability table: which feature runs with which kind of layer on which device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, Iterator, Mapping, Optional, Set, Tuple

from ipulse_core.registry.absent import ABSENT, OTHERWISE
from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import DEVICES, LAYER_KINDS
from ipulse_core.registry.refusals import (
    MATHEMATICS,
    MEMORY,
    NOT_WRITTEN,
    REFUSALS,
    Refusal,
    refusals,
)

RUNS = "runs"


@dataclass(frozen=True)
class Cell:
    """Whether a feature runs in a network with a kind of layer on a kind of device.

    verdict: "runs"; else why not: "not written", "mathematics", "memory" or "otherwise".
    reason, fix: of a refusal, and where the verdict is "runs", empty.
    refusal: the rule at submission; None where the kind or the device has no field for it.
    not_combined_with: the features with which it does not run, with the reason.
    """

    feature: str
    kind: str
    device: str
    verdict: str
    reason: str = ""
    refusal: Optional[Refusal] = None
    not_combined_with: Tuple[Tuple[str, str], ...] = ()

    def to_json(self) -> Dict[str, Any]:
        """Returns the cell as JSON."""
        return {
            "feature": self.feature,
            "kind": self.kind,
            "device": self.device,
            "verdict": self.verdict,
            "reason": self.reason,
            "not_combined_with": [
                {"feature": name, "reason": text} for name, text in self.not_combined_with
            ],
        }


@lru_cache(maxsize=None)
def cells() -> Tuple[Cell, ...]:
    """Returns every cell, by feature, kind of layer and device."""
    return tuple(
        cell_of(feature, kind, device)
        for feature in FEATURES
        for kind in LAYER_KINDS
        for device in DEVICES
    )


def cell_of(name: str, kind_name: str, device: str) -> Cell:
    """Returns the cell of a feature, a kind of layer and a device."""
    kind, where = LAYER_KINDS[kind_name], (name, kind_name, device)
    absence = ABSENT.get((name, device)) or ABSENT.get((name, kind_name))
    is_refused = bool(refusals(kind.facts, device))
    if absence and not (is_refused and absence.cause == OTHERWISE and (name, device) not in ABSENT):
        return Cell(*where, absence.cause, absence.reason)
    asked = {name, *FEATURES[name].needs} if absence is None else set()
    facts = {*asked, *kind.facts, *kind.implies}
    # What the feature needs besides may be in another layer.
    found = [
        each
        for each in refusals([*facts], device)
        if not each.same_layer or name in (each.feature, *each.combined_with)
    ]
    found.sort(key=lambda each: each.feature != name)
    if found:
        first = found[0]
        return Cell(*where, first.cause, first.text(device), first)
    return Cell(*where, RUNS, not_combined_with=tuple(_conditions(asked, facts, device)))


def counts() -> Mapping[str, Mapping[str, int]]:
    """Returns how many cells of each device have each verdict."""
    counted: Dict[str, Dict[str, int]] = {}
    for device in DEVICES:
        counted[device] = dict.fromkeys((RUNS, NOT_WRITTEN, MEMORY, MATHEMATICS, OTHERWISE), 0)
    for cell in cells():
        counted[cell.device][cell.verdict] += 1
    return counted


def to_json() -> Dict[str, Any]:
    """Returns the registry and the table as JSON."""
    return {
        "features": [
            {"name": each.name, "place": each.place, "field": each.field, "text": each.sentence}
            for each in FEATURES.values()
        ],
        "kinds": [
            {"name": each.name, "kind": each.kind, "nir": list(each.nir), "text": each.sentence}
            for each in LAYER_KINDS.values()
        ],
        "devices": [
            {"name": each.name, "is_seen": each.is_seen, "text": each.sentence}
            for each in DEVICES.values()
        ],
        "cells": [cell.to_json() for cell in cells()],
    }


def _conditions(asked: Set[str], facts: Set[str], device: str) -> Iterator[Tuple[str, str]]:
    """Yields the features with which a feature does not run, with the reason, once each."""
    done = set()
    for refusal in REFUSALS:
        together = {refusal.feature, *refusal.combined_with}
        if device not in refusal.on or not asked & together:
            continue
        for other in sorted(together - facts):
            is_there = (other, device) not in ABSENT
            if len(together - facts) == 1 and is_there and other not in done:
                done.add(other)
                yield other, refusal.text(device)

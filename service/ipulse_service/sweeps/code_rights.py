"""Finds out if trials of a sweep may have custom ops, which only some tokens may submit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ipulse.sweeps import SweepConfig
from ipulse_core import strict_json

_REFERENCE = re.compile("@sha256:[0-9a-f]{64}")  # the name of an op has it


def names_op(config: SweepConfig, added: Mapping[str, Any] | None = None) -> bool:
    """Returns whether a definition, with values that are added, has the name of an op.

    Without one in the network or among the values, no trial has an op: its name is in one of them.
    """
    document = config.model_dump(mode="json")
    parts = [config.spec.get("network"), document["parameters"], document["together"], added]
    return _REFERENCE.search(strict_json.dumps(parts)) is not None

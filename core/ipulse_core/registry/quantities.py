"""The names of measured quantities: those of metric keys and stored files, and those of today.

Keys keep their names for ever. Documents of jobs have both, one beside the other.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

# Names of today by those in keys.
QUANTITIES: Mapping[str, str] = {
    "gradient_set": "active_gradients",
    "gradient_share": "active_gradients",
    "overflow": "dropped_spikes",
    "overflow_by_step": "dropped_spikes_by_step",
    "held_out": "test",
}


def with_todays_names(document: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns an object of a document with the names of today beside those of keys."""
    found = dict(document)
    for key, value in document.items():
        if key in QUANTITIES:
            is_object = isinstance(value, dict)
            found[QUANTITIES[key]] = _renamed(value) if is_object else value
    return found


def _renamed(document: Mapping[str, Any]) -> Dict[str, Any]:
    return {QUANTITIES.get(key, key): value for key, value in document.items()}

"""The index of settings: the flat values of each job's spec, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import insert

from ipulse_core import strict_json
from ipulse_core.spec.upgrade import without_names
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tables import job_settings
from ipulse_service.jobs.search import name_ids
from ipulse_service.reading.limits import MAX_NAME, MAX_SETTINGS

MAX_VALUE = 200  # characters of an indexed value
MAX_ITEMS = 16  # of a list that is indexed item by item

# They are fields of the job, or the same for all.
_LEFT_OUT = frozenset({"version", "name", "metadata"})

_INSERT = insert(job_settings)


def flat_settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a spec by their names with dots, such as network.layers.0.neurons.

    A long list of numbers, or a long text, is represented by its length and digest.
    """
    settings: dict[str, Any] = {}
    for key, value in without_names(dict(spec)).items():
        if key not in _LEFT_OUT:
            for name, leaf in _leaves(value, key):
                if len(name) <= MAX_NAME and len(settings) < MAX_SETTINGS:
                    settings[name] = leaf
    return settings


def row_of(value: Any) -> dict[str, Any]:
    """Returns the columns `number` and `value` of a setting."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"number": float(value) if is_number else None, "value": strict_json.dumps(value)}


def rows_of(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the columns of all settings of a spec by their names."""
    return {name: row_of(value) for name, value in flat_settings(spec).items()}


def add(transaction: Transaction, job_pk: int, settings: Mapping[str, dict[str, Any]]) -> None:
    """Stores the settings of a new job, which `rows_of` returned."""
    ids = name_ids.ensure(transaction, name_ids.SETTING, settings)
    rows = [{"job_pk": job_pk, "name_id": ids[name], **row} for name, row in settings.items()]
    transaction.insert_last(_INSERT, rows)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}")
    elif isinstance(value, list):
        if len(value) > MAX_ITEMS and not isinstance(value[0], dict):
            yield name, _digest(value)
        else:
            for index, item in enumerate(value):
                yield from _leaves(item, f"{name}.{index}")
    elif isinstance(value, str) and len(value) > MAX_VALUE:
        yield name, f"{value[:100]}... {_digest(value)}"
    else:
        yield name, value


def _digest(value: list[Any] | str) -> str:
    digest = hashlib.sha256(strict_json.dumps(value).encode()).hexdigest()[:12]
    kind = "values" if isinstance(value, list) else "characters"
    return f"{len(value)} {kind}, {digest}"

"""The meaning of a name in a query: a field of the job, a metric or a setting."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ipulse_core import strict_json
from ipulse_core.limits import CONTROL, MAX_KEY
from ipulse_core.metric_names import smaller_is_better
from ipulse_core.registry.layer_paths import newer, older
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs.search import name_ids
from ipulse_service.jobs.search.fields import FIELDS, JobField
from ipulse_service.jobs.search.terms import (
    LABEL,
    QUOTED,
    InvalidQuery,
    QueryText,
    invalid,
    unquoted,
)

Statistic = Literal["kept", "smallest", "largest", "last"]

# They are known before the first epoch of the first job has ended.
USUAL_METRICS = ("test_accuracy", "test_loss", "accuracy", "loss")
_STATISTICS: dict[str, Statistic] = {"min": "smallest", "max": "largest", "last": "last"}
_KEY = re.compile(f"[^{CONTROL}]{{1,{MAX_KEY}}}")
_IN_QUOTES = re.compile(QUOTED, re.DOTALL)
_SETTING = "spec."
_INDEX = re.compile(r"\[(\d+)\]")
_ITEM = re.compile(r"\.(\d+)(?=\.|$)")
_LISTED = 8  # names in a message


@dataclass(frozen=True)
class MetricColumn:
    """A metric's value of the kept epoch, or a statistic over all epochs."""

    name: str  # test_accuracy, or test_accuracy.max
    metric: str
    statistic: Statistic
    id: int | None  # None: no job has it yet


@dataclass(frozen=True)
class SettingColumn:
    """A setting of the spec, with its full name."""

    name: str
    id: int


@dataclass(frozen=True)
class LabelColumn:
    """A value of the spec's metadata."""

    name: str  # label.team
    key: str


Column = JobField | MetricColumn | SettingColumn | LabelColumn


class Vocabulary:
    """The names that occur in the jobs that a caller may read, read in one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self.settings = name_ids.read_visible(transaction, name_ids.SETTING)
        self.metrics = name_ids.read_visible(transaction, name_ids.METRIC)

    @cached_property
    def by_suffix(self) -> dict[str, list[str]]:
        """The full names of settings by each of their ends: learning_rate, adam.learning_rate."""
        names: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.settings):
            parts = name.split(".")
            for begin in range(len(parts)):
                names[".".join(parts[begin:])].append(name)
        return names

    def column(self, named: QueryText, pointer: str = "/query/q") -> Column | None:
        """Returns what a name means, None while no job has a setting of any name.

        Raises InvalidQuery for a name that no job has, or that several settings share.
        """
        name = _dotted(named.text)
        found = self._field_or_metric(name)
        if found is not None:
            return found
        suffix = name.removeprefix(_SETTING)
        settings = self._settings_named(suffix)
        if len(settings) == 1:
            return SettingColumn(settings[0], self.settings[settings[0]])
        if settings:
            some = ", ".join(settings[:_LISTED]) + (", ..." if len(settings) > _LISTED else "")
            detail = f"`{named.text[:60]}` is the end of several settings: {some}"
            raise _refused("ambiguous_name", detail, named, pointer)
        if not self.settings:
            return None
        raise self._unknown(named, name, pointer)

    def _settings_named(self, name: str) -> list[str]:
        """Returns the full names of the settings that a name of either version of a spec means."""
        for older_name in (name, *map(".".join, older(name.split(".")))):
            if older_name in self.settings:
                return [older_name]
            if older_name in self.by_suffix:
                return self.by_suffix[older_name]
        return self._newer.get(name, [])

    @cached_property
    def _newer(self) -> dict[str, list[str]]:
        """The full names of settings by each of the ends of their paths in version 2."""
        names: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.settings):
            parts = newer(name.split("."))
            for begin in range(len(parts)):
                names[".".join(parts[begin:])].append(name)
        return names

    def label(self, name: str) -> str:
        """Returns the shortest end of a setting's path in version 2 that no other setting has.

        It begins with a name, such as layers[0].neuron.decay. Settings that are one field in
        version 2, as `delay` and `delays` are, have their paths of version 1.
        """
        parts = newer(name.split("."))
        for begin in range(len(parts) - 1, 0, -1):
            suffix = ".".join(parts[begin:])
            is_only = len(self._newer[suffix]) == 1 and self.by_suffix.get(suffix, [name]) == [name]
            if not parts[begin].isdigit() and is_only and self._field_or_metric(suffix) is None:
                return _ITEM.sub(r"[\1]", suffix)
        path = ".".join(parts)
        return _ITEM.sub(r"[\1]", path if len(self._newer[path]) == 1 else name)

    def _field_or_metric(self, name: str) -> Column | None:
        if name in FIELDS:
            return FIELDS[name]
        if name.startswith(LABEL) and _KEY.fullmatch(key := _label_key(name)):
            return LabelColumn(LABEL + key, key)
        metric, dot, statistic = name.rpartition(".")
        if dot and self._is_metric(metric):
            if statistic == "best":
                best: Statistic = "smallest" if smaller_is_better(metric) else "largest"
                return MetricColumn(name, metric, best, self.metrics.get(metric))
            if statistic in _STATISTICS:
                return MetricColumn(name, metric, _STATISTICS[statistic], self.metrics.get(metric))
        if self._is_metric(name):
            return MetricColumn(name, name, "kept", self.metrics.get(name))
        return None

    def _is_metric(self, name: str) -> bool:
        return name in self.metrics or name in USUAL_METRICS

    def _unknown(self, named: QueryText, name: str, pointer: str) -> InvalidQuery:
        known = [*FIELDS, *USUAL_METRICS, *self.metrics, *self.by_suffix]
        near = difflib.get_close_matches(name[:60], known, n=3, cutoff=0.7)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        detail = f"no job has a field, setting or metric `{named.text[:60]}`{hint}"
        return _refused("unknown_name", detail, named, pointer)


def _label_key(name: str) -> str:
    """Returns the key of a label by its name in a query, where it may be quoted."""
    key = name.removeprefix(LABEL)
    return unquoted(key[1:-1]) if _IN_QUOTES.fullmatch(key) else key


def _dotted(name: str) -> str:
    """Returns a name with dots for a JSON pointer, or a name with indices in brackets."""
    if name.startswith(LABEL):  # its key is any text
        return name
    if name.startswith("/"):
        return ".".join(strict_json.pointer_keys(name))
    return _INDEX.sub(r".\1", name)


def _refused(code: str, detail: str, named: QueryText, pointer: str) -> InvalidQuery:
    return invalid(code, detail, named.position, named.length, pointer)

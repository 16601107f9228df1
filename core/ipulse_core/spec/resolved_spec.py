"""A spec in its present form as frozen plain objects: what runner and agent read.

`upgrade` has filled in every default and nothing is checked here. For type checkers the objects are
the models of `ipulse.spec`, which need a newer Python than the runner.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Dict, Tuple, cast

if TYPE_CHECKING:
    from ipulse.spec import AnySpec, ExperimentSpec

# Fields with objects that have keys of the user's own.
_MAPS = ("attributes", "engine_options", "metadata", "pvti_options")


def read_spec(document: Dict[str, Any]) -> ExperimentSpec:
    """Returns a spec in its present form: attributes for fields, tuples for lists."""
    return cast("ExperimentSpec", read_part(document))


def spec_document(spec: AnySpec) -> Dict[str, Any]:
    """Returns the resolved spec as JSON."""
    document: Dict[str, Any] = _json(spec)
    return document


def read_part(value: Any) -> Any:
    """Returns a part of a spec in its present form, a list of parts, or a plain value."""
    if isinstance(value, dict):
        fields = {key: item if key in _MAPS else read_part(item) for key, item in value.items()}
        return _class_of(tuple(fields))(**fields)
    return tuple(map(read_part, value)) if isinstance(value, list) else value


@lru_cache(maxsize=None)
def _class_of(names: Tuple[str, ...]) -> Any:
    return dataclasses.make_dataclass("SpecPart", names, frozen=True)


def _json(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {name: _json(item) for name, item in vars(value).items()}
    return [_json(item) for item in value] if isinstance(value, tuple) else value

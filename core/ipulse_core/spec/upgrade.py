"""Raises specs of earlier releases to the present form, as plain data.

The present form is that of version 1: `ipulse_core.registry.versions` lowers version 2 to it.

A stored spec stays as it was submitted. Who reads it raises it first, so that no reader needs to
know what the absence of a field means. The fields and their defaults are in `parts.json`, which
`ipulse.spec.part_table` writes from the models.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, List

from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.strict_json import dumps, escape

_LATER = "a later version of IPUlse may have it: update this one"
_SCALARS = (str, int, float)


def upgrade(document: Any) -> Dict[str, Any]:
    """Returns a spec of this or an earlier release in the present form, with every default.

    The document is not changed. Values are not compared with their limits: who accepted the spec
    has done that.

    Raises:
        InvalidSpec: With every field that is missing, and with what this release does not know.
    """
    problems: List[Problem] = []
    if isinstance(document, dict):
        raised: Dict[str, Any] = _raised(translated(document), _table()["root"], "", problems)
    else:
        problems.append(Problem("", "wrong_type", "must be an object"))
    if problems:
        raise InvalidSpec(problems)
    return raised


def translated(document: Any) -> Any:
    """Returns a spec of any release, valid or not, in the words of this one.

    Here belong names that fields had in earlier releases, and defaults that depend on another part
    of the spec. The models call it before they check anything.
    """
    if not has_validation(document):
        return document
    training = document.get("training")
    stopping = training.get("early_stopping") if isinstance(training, dict) else None
    if not isinstance(stopping, dict) or "metric" in stopping:
        return document
    stopping = {**stopping, "metric": "validation_loss"}
    return {**document, "training": {**training, "early_stopping": stopping}}


def has_validation(document: Any) -> bool:
    """Returns whether a spec, valid or not, holds out validation samples."""
    data = document.get("data") if isinstance(document, dict) else None
    fraction = data.get("validation") if isinstance(data, dict) else None
    return isinstance(fraction, (int, float)) and fraction > 0


def chosen(document: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the fields of a spec in the present form that differ from their defaults.

    Required fields and the kinds of parts are among them. Another release, which has more fields,
    returns the same for a spec that means the same.
    """
    found: Dict[str, Any] = _chosen(document, _table()["root"])
    return found


def spec_key(document: Dict[str, Any]) -> str:
    """Returns the SHA-256, in hexadecimal digits, of what `chosen` returns.

    Checkpoints hold it, so that an attempt takes only those of its own spec.
    """
    # A layer's name changes nothing, and agents of earlier releases get none.
    return hashlib.sha256(dumps(chosen(without_names(document))).encode()).hexdigest()


def without_names(document: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a spec in the flat form without the names of its layers, as agents know it."""
    network = document.get("network")
    if not network:  # a program
        return document
    found = {**network, "layers": list(map(_unnamed, network["layers"]))}
    if "readout" in network:
        found["readout"] = _unnamed(network["readout"])
    return {**document, "network": found}


def _unnamed(layer: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in layer.items() if name != "name"}


@lru_cache(maxsize=None)
def _table() -> Dict[str, Any]:
    text = Path(__file__).with_name("parts.json").read_text(encoding="utf-8")
    table: Dict[str, Any] = json.loads(text)
    return table


def _raised(value: Any, part: Any, pointer: str, problems: List[Problem]) -> Any:
    """Returns an object of a part, or a list of them, with every default."""
    if isinstance(value, list):
        return [_raised(e, part, f"{pointer}/{i}", problems) for i, e in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if isinstance(part, dict):
        value = value if part["default"] is None else {part["tag"]: part["default"], **value}
        kind = value.get(part["tag"])
        if not isinstance(kind, str) or kind not in part["kinds"]:
            detail = f"must be one of {', '.join(part['kinds'])}; got {kind}; {_LATER}"
            problems.append(Problem(f"{pointer}/{part['tag']}", "not_a_choice", detail))
            return value
    fields = _fields_of(value, part)
    for name in value:
        if name not in fields:
            detail = f"there is no such field; {_LATER}"
            problems.append(Problem(f"{pointer}/{escape(str(name))}", "unknown_field", detail))
    raised = {}
    for name, facts in fields.items():
        place = f"{pointer}/{name}"
        if name not in value and "default" not in facts:
            problems.append(Problem(place, "missing", "this field is required"))
            continue
        if value.get(name) is None and "is_left_out" in facts:
            continue
        found = value.get(name, facts.get("default"))
        if "part" in facts:
            found = _raised(found, facts["part"], place, problems)
        elif "is_float" in facts:
            found = _with_floats(found)
        for choice in found if isinstance(found, list) else (found,):
            if isinstance(choice, _SCALARS) and choice not in facts.get("choices", (choice,)):
                listed = ", ".join(map(str, facts["choices"]))
                detail = f"must be {listed}; got {choice}; {_LATER}"
                problems.append(Problem(place, "not_a_choice", detail))
        raised[name] = list(found) if isinstance(found, list) else found
    return raised


def _with_floats(value: Any) -> Any:
    """Returns the numbers of a field as floats: JSON does not tell 1 from 1.0."""
    if isinstance(value, list):
        return [_with_floats(each) for each in value]
    return float(value) if type(value) is int else value


def _chosen(value: Any, part: Any) -> Any:
    """Returns an object of a part, or a list of them, without its defaults."""
    if isinstance(value, list):
        return [_chosen(each, part) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, facts in _fields_of(value, part).items():
        if value.get(name) is None and "is_left_out" in facts:
            continue
        found = _chosen(value[name], facts["part"]) if "part" in facts else value[name]
        # In Python 1 is equal to 1.0 and to true. A part's default is written without its own.
        is_default = "default" in facts and _is_same(found, facts["default"])
        if not is_default or len(facts.get("choices", ())) == 1:
            kept[name] = found
    return kept


def _is_same(value: Any, other: Any) -> bool:
    return bool(type(value) is type(other) and value == other and repr(value) == repr(other))


def _fields_of(value: Dict[str, Any], part: Any) -> Dict[str, Dict[str, Any]]:
    """Returns the fields of an object of a part, which its tag may select."""
    name = part["kinds"][value[part["tag"]]] if isinstance(part, dict) else part
    fields: Dict[str, Dict[str, Any]] = _table()["parts"][name]
    return fields

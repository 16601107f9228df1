"""The JSON Schema of the spec describes what validation accepts, as far as it can."""

from __future__ import annotations

import copy
from typing import Annotated, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # stubs not locked

from ipulse.events import parse_event
from ipulse.models import ByKind, adapter_of
from ipulse.spec import ExperimentSpec, parse_spec
from ipulse.spec.job_spec import json_schema
from ipulse.spec.version_2 import experiment
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import Event
from ipulse_core.registry.versions import raise_to_2
from tests.ipulse.spec.test_versions import LIF, OPS, PARTS
from tests.ipulse.strategies import documents, values

# Objects with keys of Poplar's own.
POPLAR = ("/device/engine_options", "/device/poplar_flags", "/device/pvti_options")


VALIDATOR = Draft202012Validator(ExperimentSpec.model_json_schema())
VERSION_2 = Draft202012Validator(experiment().model_json_schema())
BOTH = Draft202012Validator(json_schema())
EVENTS = Draft202012Validator(adapter_of(Annotated[Event, ByKind()]).json_schema())

# A value for every kind of mistake. Left out is what JSON Schema cannot tell apart: 1.0 from 1,
# and texts with control characters.
MISTAKES: list[Any] = [
    None,
    True,
    -1,
    0,
    0.5,
    10**9,
    2**60,
    "",
    " x",
    "x" * 600,
    "mask",
    [],
    [1],
    {},
    {"kind": "cpu"},
    {"colour": "red"},
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each place in a document as its container and its key or index there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    entries: list[tuple[Any, Any]] = []
    for key, item in inside:
        entries.append((value, key))
        if isinstance(item, (dict, list)):
            entries.extend(places(item))
    return entries


def is_expressible(problem: Problem) -> bool:
    """Return whether JSON Schema can express the rule of a problem."""
    if problem.code == "wrong_length":  # of a number for each neuron, or of a list by itself
        return "for each of" not in problem.detail
    if problem.pointer.startswith(POPLAR):
        return problem.code not in ("not_allowed", "unknown_option", "wrong_value")
    return problem.code not in ("inconsistent", "too_large", "unsupported")


def is_parsed(document: Any) -> bool:
    """Return whether JSON Schema accepts the spec."""
    try:
        parse_spec(document)
    except InvalidInput as error:
        return not any(map(is_expressible, error.problems))
    return True


def test_it_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)
    Draft202012Validator.check_schema(EVENTS.schema)


@given(documents())
def test_a_valid_document_validates(pair: tuple[dict[str, Any], ExperimentSpec]) -> None:
    VALIDATOR.validate(pair[0])
    VERSION_2.validate(raise_to_2(pair[0]))


@pytest.mark.parametrize("document", [LIF, PARTS, OPS], ids=["lif", "parts", "ops"])
def test_every_kind_of_layer_validates_in_both_versions(document: dict[str, Any]) -> None:
    for written in (document, raise_to_2(document)):
        BOTH.validate(written)


@given(documents(), st.data())
def test_what_the_schema_of_version_2_refuses_is_refused(
    pair: tuple[dict[str, Any], ExperimentSpec], data: st.DataObject
) -> None:
    document = copy.deepcopy(raise_to_2(pair[0]))
    container, key = data.draw(st.sampled_from(places(document["network"])))
    if data.draw(st.booleans()) and isinstance(container, dict):
        container["colour"] = "red"
        assert not VERSION_2.is_valid(document)
    else:
        container[key] = data.draw(st.sampled_from(MISTAKES))
    if not VERSION_2.is_valid(document):
        with pytest.raises(InvalidInput):
            parse_spec(document)


@given(documents(), st.data())
def test_json_schema_and_models_agree_on_a_single_change(
    pair: tuple[dict[str, Any], ExperimentSpec], data: st.DataObject
) -> None:
    document = copy.deepcopy(pair[0])
    container, key = data.draw(st.sampled_from(places(document)))
    kind = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if kind == "replace":
        container[key] = data.draw(st.sampled_from(MISTAKES))
    elif kind == "remove":
        del container[key]
    elif isinstance(container, dict):
        container[data.draw(st.sampled_from(["colour", "Seed", "k" * 65]))] = "x"
    assert VALIDATOR.is_valid(document) == is_parsed(document)


@pytest.mark.parametrize(
    "document",
    [
        {"version": 1, "network": {"layers": [{"neurons": 1}]}, "name": "two\nlines"},
        {"version": 1, "network": {"layers": [{"neurons": 1}]}, "name": " padded"},
    ],
    ids=["two lines", "padded"],
)
def test_patterns_are_of_the_whole_text(document: Any) -> None:
    assert not VALIDATOR.is_valid(document)


@given(st.one_of(*(values(member) for member in get_args(Event))))
def test_every_event_validates(event: Event) -> None:
    EVENTS.validate(event.to_json())


def test_an_event_without_its_kind_is_refused_by_both() -> None:
    assert EVENTS.is_valid({"kind": "phase", "phase": "run"})
    assert not EVENTS.is_valid({"phase": "run"})
    with pytest.raises(InvalidInput):
        parse_event({"phase": "run"})

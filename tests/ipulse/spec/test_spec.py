"""The experiment spec: what it accepts, what it refuses, and what it says then."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec
from tests.ipulse.spec_documents import changed, minimal, problems_of
from tests.ipulse.strategies import documents, specs


class TestValid:
    @given(specs())
    def test_writing_and_reading_gives_an_equal_spec(self, spec: ExperimentSpec) -> None:
        text = strict_json.dumps(spec_to_json(spec))
        assert parse_spec(strict_json.loads(text)) == spec

    @given(documents())
    def test_what_is_left_out_takes_its_default(
        self, pair: tuple[dict[str, Any], ExperimentSpec]
    ) -> None:
        document, spec = pair
        assert parse_spec(document) == spec

    @given(specs())
    def test_the_written_spec_has_every_field(self, spec: ExperimentSpec) -> None:
        written = spec_to_json(spec)
        assert set(written) == set(ExperimentSpec.model_fields)
        assert spec_to_json(parse_spec(written)) == written

    def test_a_spec_needs_only_its_version_and_a_layer(self) -> None:
        spec = parse_spec(minimal())
        assert spec.network.layers[0].neurons == 8
        assert spec.data.kind == "digits"
        assert spec.device.kind == "cpu"

    def test_whole_numbers_may_stand_where_fractions_may(self) -> None:
        spec = parse_spec(changed("/training/optimizer/learning_rate", 1))
        assert spec.training.optimizer.learning_rate == 1.0
        assert type(spec.training.optimizer.learning_rate) is float

    def test_a_spec_cannot_be_changed(self) -> None:
        spec = parse_spec(minimal())
        with pytest.raises(ValidationError, match="frozen"):
            spec.seed = 1  # type: ignore[misc]


NEURONS = "/network/layers/0/neurons"


WRONG = {
    "10^9 neurons": (NEURONS, 10**9, "out_of_range"),
    "no neurons": (NEURONS, 0, "out_of_range"),
    "-0 neurons": (NEURONS, -0, "out_of_range"),
    "negative neurons": (NEURONS, -1, "out_of_range"),
    "an integer above 2^63": (NEURONS, 2**63, "out_of_range"),
    "an integer of 6000 digits": (NEURONS, 16**5000, "out_of_range"),
    "a boolean for an integer": (NEURONS, True, "wrong_type"),
    "a fraction for an integer": (NEURONS, 8.0, "wrong_type"),
    "text for an integer": (NEURONS, "8", "wrong_type"),
    "null for an integer": (NEURONS, None, "wrong_type"),
    "0 steps": ("/data/steps", 0, "out_of_range"),
    "10^9 steps": ("/data/steps", 10**9, "out_of_range"),
    "batch of 0": ("/training/batch_size", 0, "out_of_range"),
    "0 epochs": ("/training/epochs", 0, "out_of_range"),
    "seed below 0": ("/seed", -1, "out_of_range"),
    "seed of 2^31": ("/seed", 2**31, "out_of_range"),
    "NaN": ("/training/optimizer/learning_rate", float("nan"), "not_finite"),
    "infinity, as 1e309 reads": ("/training/optimizer/learning_rate", 1e309, "not_finite"),
    "a boolean for a number": ("/training/optimizer/learning_rate", False, "wrong_type"),
    "10^400 for a number": ("/training/optimizer/learning_rate", 10**400, "out_of_range"),
    "decay above one": ("/network/layers/0/decay", 1.1, "out_of_range"),
    "synapse that never decays": ("/network/layers/0/synapse_decay", 1.0, "out_of_range"),
    "negative decay": ("/network/layers/0/decay", -0.5, "out_of_range"),
    "threshold of zero": ("/network/layers/0/threshold", 0, "out_of_range"),
    "another version": ("/version", 3, "not_a_choice"),
    "true for version 1": ("/version", True, "not_a_choice"),
    "1.0 for version 1": ("/version", 1.0, "not_a_choice"),
    "a delay of 10,001": ("/network/delay", 10_001, "out_of_range"),
    "true for delay 1": ("/network/delay", True, "wrong_type"),
    "a list for a choice": ("/network/reset_gradient", ["mask"], "not_a_choice"),
    "an unknown device": ("/device/kind", "gpu", "not_a_choice"),
    "an unknown data set": ("/data/kind", "file:///etc/passwd", "not_a_choice"),
    "no layers": ("/network/layers", [], "wrong_length"),
    "17 layers": ("/network/layers", [{"neurons": 1}] * 17, "wrong_length"),
    "an object for a list": ("/network/layers", {"0": {"neurons": 1}}, "wrong_type"),
    "text for a list": ("/network/layers", "8,8", "wrong_type"),
    "a list for an object": ("/training", [], "wrong_type"),
    "a layer that is a number": ("/network/layers/0", 8, "wrong_type"),
    "an empty name": ("/name", "", "wrong_form"),
    "a name of spaces": ("/name", "  ", "wrong_form"),
    "a name of two lines": ("/name", "a\nb", "wrong_form"),
    "a NUL in a name": ("/name", "a\0b", "control_character"),
    "an escape sequence in a name": ("/name", "a\x1b[31mb", "control_character"),
    "an 8-bit escape in a name": ("/name", "a\x9b31mb", "control_character"),
    "half a character in a name": ("/name", "a\ud800b", "control_character"),
    "a name of 129 characters": ("/name", "n" * 129, "too_long"),
    "a number for a name": ("/name", 5, "wrong_type"),
    "metadata that is a number": ("/metadata/a", 1, "wrong_type"),
    "metadata of 513 characters": ("/metadata/a", "x" * 513, "too_long"),
    "metadata that nests": ("/metadata/a", {"b": "c"}, "wrong_type"),
    "an unknown field": ("/epochs", 3, "unknown_field"),
    "an unknown field inside": ("/training/optimizer/momentum", 0.9, "unknown_field"),
    "a field of another case": ("/network/layers/0/Decay", 0.9, "unknown_field"),
}


class TestInvalid:
    @pytest.mark.parametrize(("pointer", "value", "code"), WRONG.values(), ids=WRONG.keys())
    def test_one_wrong_place_is_one_problem_there(
        self, pointer: str, value: Any, code: str
    ) -> None:
        assert problems_of(changed(pointer, value)) == [(pointer, code)]

    @pytest.mark.parametrize("document", [None, 5, "spec", [], True, 1.5], ids=repr)
    def test_a_document_that_is_no_object(self, document: Any) -> None:
        assert problems_of(document) == [("", "wrong_type")]

    def test_every_problem_is_reported_at_once(self) -> None:
        document = {
            "seed": -1,
            "network": {"layers": [{"neurons": 0}, {"decay": 2.0}], "delay": -7},
            "training": {"epochs": "many", "optimizer": {"kind": "lion"}},
            "colour": "red",
        }
        assert sorted(problems_of(document)) == [
            ("/colour", "unknown_field"),
            ("/network/delay", "out_of_range"),
            ("/network/layers/0/neurons", "out_of_range"),
            ("/network/layers/1/decay", "out_of_range"),
            ("/network/layers/1/neurons", "missing"),
            ("/seed", "out_of_range"),
            ("/training/epochs", "wrong_type"),
            ("/training/optimizer/kind", "not_a_choice"),
            ("/version", "missing"),
        ]

    def test_metadata_has_at_most_16_pairs(self) -> None:
        spec = parse_spec({**minimal(), "metadata": {f"k{n}": "v" for n in range(16)}})
        assert len(spec.metadata) == 16
        document = {**minimal(), "metadata": {f"k{n}": "v" for n in range(17)}}
        assert problems_of(document) == [("/metadata", "wrong_length")]

    @pytest.mark.parametrize("key", ["", "k" * 65, "a\0", 7, None], ids=repr)
    def test_a_bad_metadata_key(self, key: Any) -> None:
        ((pointer, code),) = problems_of({**minimal(), "metadata": {key: "v"}})
        assert code == "bad_key"
        assert pointer.startswith("/metadata/")

    def test_a_key_is_escaped_in_its_pointer(self) -> None:
        assert problems_of({**minimal(), "a/b~c": 1}) == [("/a~1b~0c", "unknown_field")]

    def test_a_key_that_is_not_text_is_an_unknown_field(self) -> None:
        assert problems_of({**minimal(), 5: 1, None: 2}) == [
            ("/5", "unknown_field"),
            ("/None", "unknown_field"),
        ]

    def test_a_long_key_makes_a_short_and_well_formed_pointer(self) -> None:
        ((pointer, _),) = problems_of({**minimal(), "x" * 99 + "/" + "y" * 10_000: 1})
        assert pointer == "/" + "x" * 99 + "~1"

    def test_the_message_names_the_place_and_the_limit(self) -> None:
        with pytest.raises(
            InvalidSpec, match=r"/network/layers/0/neurons: 0 is below the minimum of 1"
        ):
            parse_spec(changed(NEURONS, 0))

    def test_an_answer_never_outgrows_the_document(self) -> None:
        document = {**minimal(), **{f"k{n}": 0 for n in range(50_000)}}
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(document)
        problems = caught.value.problems
        assert problems[-1].code == "too_many_problems"
        assert problems[-1].detail == "49900 more problems are not listed"
        response = json.dumps([problem.to_json() for problem in problems])
        assert len(response) < len(json.dumps(document))

    def test_a_huge_integer_for_a_choice_is_out_of_range(self) -> None:
        document = {**minimal(), "version": 10**400}
        assert problems_of(document) == [("/version", "out_of_range")]

    @pytest.mark.parametrize("place", ["network/layers", "training/regularisers"])
    def test_a_far_too_long_list_of_objects_is_one_problem(self, place: str) -> None:
        part, name = place.split("/")
        document = minimal()
        document[part] = {**document.get(part, {}), name: [1] * 400_000}
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(document)
        (problem,) = caught.value.problems
        assert (problem.pointer, problem.code) == (f"/{place}", "wrong_length")
        assert problem.detail == "must have at most 16 items; got 400000"

    def test_many_problems_deep_inside_are_counted_once_and_fast(self) -> None:
        layers = [{"neurons": 3, "decay": [True] * 40_000}, {"neurons": 0}]
        began = time.process_time()
        with pytest.raises(InvalidSpec) as caught:
            parse_spec({"version": 1, "network": {"layers": layers}})
        assert time.process_time() - began < 1.5  # every level explained all of them: 3 s
        assert len(caught.value.problems) == 101
        assert caught.value.problems[99].pointer == "/network/layers/0/decay/99"
        assert caught.value.problems[-1].detail == "39901 more problems are not listed"

    def test_problems_late_in_a_long_list_have_their_place(self) -> None:
        decay = [0.5] * 40_000
        decay[12_345] = decay[39_999] = 2.0
        with pytest.raises(InvalidSpec) as caught:
            parse_spec({"version": 1, "network": {"layers": [{"neurons": 40_000, "decay": decay}]}})
        first, rest = caught.value.problems
        assert (first.pointer, first.code) == ("/network/layers/0/decay/12345", "out_of_range")
        assert rest.detail == "1 more problems are not listed"


def test_the_package_offers_the_spec() -> None:
    import ipulse

    document = {"version": 1, "network": {"layers": [{"neurons": 8}]}}
    assert ipulse.ExperimentSpec.model_validate(document) == parse_spec(document)
    assert ipulse.ExperimentSpec.model_validate_json(json.dumps(document)) == parse_spec(document)
    assert ipulse.ExperimentSpec is ExperimentSpec

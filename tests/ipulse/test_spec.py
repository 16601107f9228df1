"""The experiment spec: what it accepts, what it refuses, and what it says then."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Optional, Tuple

import pytest
from hypothesis import given

from ipulse import strict_json
from ipulse.errors import InvalidSpec
from ipulse.spec import EmulatorDevice, ExperimentSpec, IPUDevice, parse_spec, spec_to_json

from .strategies import documents, specs


def minimal() -> Dict[str, Any]:
    return {"version": 1, "network": {"layers": [{"neurons": 8}]}}


def changed(pointer: str, value: Any, document: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """The document, or else the minimal one, with one place set to `value`."""
    document = minimal() if document is None else document
    *parents, last = pointer.split("/")[1:]
    at: Any = document
    for name in parents:
        at = at[int(name)] if isinstance(at, list) else at.setdefault(name, {})
    if isinstance(at, list):
        at[int(last)] = value
    else:
        at[last] = value
    return document


def problems_of(document: Any) -> List[Tuple[str, str]]:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(document)
    return [(problem.pointer, problem.code) for problem in caught.value.problems]


class TestValid:
    @given(specs())
    def test_writing_and_reading_gives_an_equal_spec(self, spec: ExperimentSpec) -> None:
        text = strict_json.dumps(spec_to_json(spec))
        assert parse_spec(strict_json.loads(text)) == spec

    @given(documents())
    def test_what_is_left_out_takes_its_default(
        self, pair: Tuple[Dict[str, Any], ExperimentSpec]
    ) -> None:
        document, spec = pair
        assert parse_spec(document) == spec

    @given(specs())
    def test_the_written_spec_has_every_field(self, spec: ExperimentSpec) -> None:
        written = spec_to_json(spec)
        assert set(written) == {field.name for field in dataclasses.fields(ExperimentSpec)}
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
        with pytest.raises(dataclasses.FrozenInstanceError):
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
    "decay of one": ("/network/layers/0/decay", 1.0, "out_of_range"),
    "negative decay": ("/network/layers/0/decay", -0.5, "out_of_range"),
    "threshold of zero": ("/network/layers/0/threshold", 0, "out_of_range"),
    "another version": ("/version", 2, "not_a_choice"),
    "true for version 1": ("/version", True, "not_a_choice"),
    "1.0 for version 1": ("/version", 1.0, "not_a_choice"),
    "delay of 2": ("/network/delay", 2, "not_a_choice"),
    "true for delay 1": ("/network/delay", True, "not_a_choice"),
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

    def test_every_problem_is_told_at_once(self) -> None:
        document = {
            "seed": -1,
            "network": {"layers": [{"neurons": 0}, {"decay": 2.0}], "delay": 7},
            "training": {"epochs": "many", "optimizer": {"kind": "lion"}},
            "colour": "red",
        }
        assert sorted(problems_of(document)) == [
            ("/colour", "unknown_field"),
            ("/network/delay", "not_a_choice"),
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
            ("/null", "unknown_field"),
        ]

    def test_a_long_key_makes_a_short_and_well_formed_pointer(self) -> None:
        ((pointer, _),) = problems_of({**minimal(), "x" * 99 + "/" + "y" * 10_000: 1})
        assert pointer == "/" + "x" * 99 + "~1"

    def test_the_message_names_the_place_and_the_limit(self) -> None:
        with pytest.raises(InvalidSpec, match=r"/network/layers/0/neurons: must be at least 1"):
            parse_spec(changed(NEURONS, 0))

    def test_an_answer_never_outgrows_the_document(self) -> None:
        document = {**minimal(), **{f"k{n}": 0 for n in range(50_000)}}
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(document)
        problems = caught.value.problems
        assert problems[-1].code == "too_many_problems"
        assert problems[-1].detail == "49900 more problems are not listed"
        told = json.dumps([problem.to_json() for problem in problems])
        assert len(told) < len(json.dumps(document))


LAYER = "/network/layers/0"
SPIKING = {"kind": "spiking"}
MISFITS: Dict[str, Tuple[Dict[str, Any], str, str]] = {
    "spikes counted of a readout without any": (
        {"/training/loss": "spike_count_mse"},
        "/training/loss",
        "set network.readout.kind to spiking",
    ),
    "a membrane loss of a readout that spikes": (
        {"/network/readout": SPIKING},
        "/training/loss",
        "choose spike_count_cross_entropy or spike_count_mse",
    ),
    "fewer output slots than classes": (
        {
            "/network/readout": {**SPIKING, "capacity": 4},
            "/training/loss": "spike_count_cross_entropy",
        },
        "/network/readout/capacity",
        "leave it out",
    ),
    "targets of a loss that has none": (
        {"/training/spike_targets": {"right": 5}},
        "/training/spike_targets",
        "leave them out",
    ),
    "a wrong neuron that should spike more": (
        {"/training/spike_targets": {"right": 5, "wrong": 5}},
        "/training/spike_targets/wrong",
        "must be below right (5)",
    ),
    "a policy without a capacity": (
        {f"{LAYER}/policy": "top"},
        f"{LAYER}/policy",
        "set a capacity",
    ),
    "growth beyond the neurons": (
        {f"{LAYER}/capacity": {"grow": 9}},
        f"{LAYER}/capacity/grow",
        "must not be above neurons (8)",
    ),
    "growth that ends before it begins": (
        {f"{LAYER}/capacity": {"grow": 4, "most": 3}},
        f"{LAYER}/capacity/most",
        "must not be below grow (4)",
    ),
    "one second threshold above its neuron's threshold": (
        {
            f"{LAYER}/threshold": [1.0] * 8,
            f"{LAYER}/second_threshold": [0.5] * 7 + [1.5],
        },
        f"{LAYER}/second_threshold",
        "must not be above the layer's threshold",
    ),
    "reset on emission where every spike is emitted": (
        {"/network/reset_on": "emission"},
        "/network/reset_on",
        "set one",
    ),
    "the gradient of no reset": (
        {"/network/reset": "none", "/network/reset_gradient": "term"},
        "/network/reset_gradient",
        "no reset",
    ),
    "a constant trained twice": (
        {"/network/trainable": ["decay", "threshold", "decay"]},
        "/network/trainable/2",
        "decay is there already",
    ),
    "a synapse trained that is not there": (
        {"/network/trainable": ["synapse_decay"]},
        "/network/trainable/0",
        "give one of them one",
    ),
    "a ramp to no second threshold": (
        {"/training/second_threshold_ramp": {"epochs": 3}},
        "/training/second_threshold_ramp",
        "give one of them one",
    ),
    "a ramp longer than the training": (
        {
            f"{LAYER}/second_threshold": 0.5,
            "/training/epochs": 3,
            "/training/second_threshold_ramp": {"epochs": 4},
        },
        "/training/second_threshold_ramp/epochs",
        "within the training (3 epochs)",
    ),
    "a bound of a layer that is not there": (
        {"/training/regularisers": [{"kind": "upper", "layers": [1, 2]}]},
        "/training/regularisers/0/layers/1",
        "there are 1 hidden layers",
    ),
    "nesterov without momentum": (
        {"/training/optimizer": {"kind": "sgd", "momentum": 0, "nesterov": True}},
        "/training/optimizer/nesterov",
        "needs a momentum",
    ),
    "a table without its width": (
        {"/network/surrogate": {"name": "table", "values": [0, 1]}},
        "/network/surrogate/width",
        "required",
    ),
    "a slope of a boxcar": (
        {"/network/surrogate": {"name": "boxcar", "slope": 3}},
        "/network/surrogate/slope",
        "the fields here are name, half_width",
    ),
    "one number of a table": (
        {"/network/surrogate": {"name": "table", "values": [1], "width": 1}},
        "/network/surrogate/values",
        "must have 2 to 4096 items",
    ),
}


class TestBetweenFields:
    def test_a_second_threshold_above_the_first(self) -> None:
        document = changed("/network/layers/0/second_threshold", 1.5)
        assert problems_of(document) == [("/network/layers/0/second_threshold", "inconsistent")]

    def test_a_second_threshold_equal_to_the_first_is_allowed(self) -> None:
        spec = parse_spec(changed("/network/layers/0/second_threshold", 1.0))
        assert spec.network.layers[0].second_threshold == 1.0

    def test_more_capacity_than_neurons(self) -> None:
        document = changed("/network/layers/0/capacity", 9)
        assert problems_of(document) == [("/network/layers/0/capacity", "inconsistent")]

    def test_more_weights_than_memory(self) -> None:
        document = changed("/network/layers", [{"neurons": 65_535}, {"neurons": 65_535}])
        assert problems_of(document) == [("/network/layers", "too_large")]

    def test_a_step_larger_than_memory_says_what_to_make_smaller(self) -> None:
        document = changed("/training/batch_size", 65_536)
        document["data"] = {"steps": 10_000}
        with pytest.raises(InvalidSpec, match="use a smaller batch"):
            parse_spec(document)

    @pytest.mark.parametrize(("changes", "pointer", "cure"), MISFITS.values(), ids=MISFITS.keys())
    def test_what_makes_no_sense_together_is_refused_with_its_place_and_cure(
        self, changes: Dict[str, Any], pointer: str, cure: str
    ) -> None:
        document = changed(*next(iter(changes.items())))
        for place, value in list(changes.items())[1:]:
            document = changed(place, value, document)
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(document)
        (problem,) = caught.value.problems
        assert problem.pointer == pointer
        assert cure in problem.detail

    def test_a_list_has_a_number_for_each_neuron(self) -> None:
        for name in ("decay", "threshold", "second_threshold", "synapse_decay"):
            place = f"/network/layers/0/{name}"
            assert problems_of(changed(place, [0.5] * 7)) == [(place, "wrong_length")]
            parsed = parse_spec(changed(place, [0.5] * 8)).network.layers[0]
            assert getattr(parsed, name) == (0.5,) * 8
        place = "/network/readout/decay"
        assert problems_of(changed(place, [0.5] * 8)) == [(place, "wrong_length")]


class TestIPUs:
    """What the Poplar op does not do is refused before anything is sent."""

    def problems(self, device: Dict[str, Any], **network: Any) -> List[str]:
        spec = minimal()
        spec["device"] = device
        spec["network"].update(network)
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(spec)
        return [problem.pointer for problem in caught.value.problems]

    @pytest.mark.parametrize("kind", ["emulator", "ipu"])
    def test_options(self, kind: str) -> None:
        spec = minimal()
        options = {"ipus": 4, "mapping": "neurons", "steps_per_execution": 4}
        spec["device"] = {"kind": kind, "connection_type": "ALWAYS", **options}
        device = parse_spec(spec).device
        assert isinstance(device, (EmulatorDevice, IPUDevice))
        assert (device.kind, device.ipus, device.connection_type) == (kind, 4, "ALWAYS")

    def test_tiles_are_the_emulators(self) -> None:
        spec = minimal()
        spec["device"] = {"kind": "emulator"}
        device = parse_spec(spec).device
        assert isinstance(device, EmulatorDevice)
        assert device.tiles == 1472
        assert self.problems({"kind": "ipu", "tiles": 16}) == ["/device/tiles"]
        assert self.problems({"kind": "emulator", "tiles": 1473}) == ["/device/tiles"]

    @pytest.mark.parametrize("kind", ["emulator", "ipu"])
    def test_what_the_op_has_not(self, kind: str) -> None:
        if kind == "ipu":
            assert self.problems({"kind": kind}, trainable=["decay"]) == ["/network/trainable"]
        assert self.problems({"kind": kind, "ipus": 3}) == ["/device/ipus"]
        top = [{"neurons": 8, "capacity": 2, "policy": "top"}]
        problems = self.problems({"kind": kind, "ipus": 4}, layers=top)
        assert problems == ["/network/layers/0/policy"]
        assert self.problems({"kind": kind, "threads": 2}) == ["/device/threads"]

    @pytest.mark.parametrize("kind", ["emulator", "ipu"])
    def test_how_ipus_share_a_network(self, kind: str) -> None:
        spec = minimal()
        top = [{"neurons": 8, "capacity": 2, "policy": "top"}]
        for split, ipus in ((None, 1), ("layers", 2), ("neurons", 4)):
            spec["device"] = {"kind": kind, "ipus": ipus, "split": split}
            assert spec_to_json(parse_spec(spec))["device"]["split"] == split
        spec["network"]["layers"] = top
        for split, ipus in ((None, 2), ("layers", 2), ("neurons", 1)):
            spec["device"] = {"kind": kind, "ipus": ipus, "split": split}
            parse_spec(spec)
        split_top = self.problems({"kind": kind, "ipus": 2, "split": "neurons"}, layers=top)
        assert split_top == ["/network/layers/0/policy"]
        assert self.problems({"kind": kind, "ipus": 4, "split": "layers"}) == ["/device/split"]
        assert self.problems({"kind": kind, "split": "spikes"}) == ["/device/split"]
        assert self.problems({"kind": "cpu", "split": "neurons"}) == ["/device/split"]

    @pytest.mark.parametrize(
        ("options", "pointer"),
        [
            ({"engine_options": {"autoReport.al": "true"}}, "/engine_options/autoReport.al"),
            ({"engine_options": {"autoReport.all": "yes"}}, "/engine_options/autoReport.all"),
            (
                {"engine_options": {"autoReport.executionProfileProgramRunCount": "100"}},
                "/engine_options/autoReport.executionProfileProgramRunCount",
            ),
            (
                {"engine_options": {"autoReport.directory": "."}},
                "/engine_options/autoReport.directory",
            ),
            (
                {"engine_options": {"target.saveArchive": "/etc/x"}},
                "/engine_options/target.saveArchive",
            ),
            (  # a name alone is a place, too: where the agent was started
                {"engine_options": {"debug.loweredVarDumpFile": "vars"}},
                "/engine_options/debug.loweredVarDumpFile",
            ),
            ({"poplar_flags": ["--allow_nans", "--alow_nans"]}, "/poplar_flags/1"),
            ({"poplar_flags": ["--allow_nans=1"]}, "/poplar_flags/0"),
            ({"poplar_flags": ["--log_cycle_count"]}, "/poplar_flags/0"),
            ({"poplar_flags": ["--executable_cache_path=/x"]}, "/poplar_flags/0"),
            ({"poplar_flags": ["--allow_nans --help"]}, "/poplar_flags/0"),
            ({"pvti_options": {"directory": "x"}}, "/pvti_options/directory"),
            ({"pvti_options": {"enable": "1"}}, "/pvti_options/enable"),
            ({"ipus": 3}, "/ipus"),
        ],
    )
    def test_options_of_poplar_that_there_are_not(
        self, options: Dict[str, Any], pointer: str
    ) -> None:
        network = {"layers": [{"neurons": 4}] * 3}
        assert self.problems({"kind": "ipu", **options}, **network) == [f"/device{pointer}"]

    def test_an_attempts_process_is_told_what_was_asked(self) -> None:
        device = IPUDevice(
            engine_options={"autoReport.all": "true"},
            poplar_flags=("--allow_nans", "--log_cycle_count=1"),
            pvti_options={"enable": "true"},
        )
        told = device.environment("/attempt")
        assert json.loads(told["POPLAR_ENGINE_OPTIONS"]) == {
            "autoReport.all": "true",
            "autoReport.directory": "/attempt/poplar_reports",
        }
        assert told["TF_POPLAR_FLAGS"] == "--allow_nans --log_cycle_count=1"
        assert json.loads(told["PVTI_OPTIONS"]) == {"enable": "true", "directory": "/attempt/pvti"}
        assert IPUDevice().environment("/attempt") == {}

"""Spec files: what YAML is read as, and on which line a problem stands."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ipulse.spec import ExperimentSpec, spec_to_json
from ipulse.spec.document.file import PlacedProblem, parse_spec_file, read_spec_file
from ipulse_core.errors import InvalidInput, InvalidSpec
from tests.ipulse.strategies import specs

EXAMPLE = Path(__file__).parents[3] / "examples" / "digits.yaml"


def value_of(text: str) -> Any:
    return parse_spec_file(text.encode(), "x.yaml").value


def problems_of(text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec_file(text.encode(), "x.yaml").spec()
    problems = []
    for problem in caught.value.problems:
        assert isinstance(problem, PlacedProblem)
        assert problem.file == "x.yaml"
        problems.append((problem.line, problem.pointer, problem.code))
    return problems


class TestReading:
    def test_the_example_is_valid(self) -> None:
        spec = read_spec_file(EXAMPLE).spec()
        assert spec.data.kind == "digits"
        assert len(spec.network.layers) == 2

    @given(specs())
    def test_any_spec_written_as_json_is_read_back(self, spec: ExperimentSpec) -> None:
        text = json.dumps(spec_to_json(spec), indent=2)
        assert parse_spec_file(text.encode(), "x.json").spec() == spec

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1e-3", 0.001),
            ("2E+4", 20000),
            (".5", 0.5),
            ("-0", 0),
            ("010", 10),
            ("0o10", 8),
            ("0x1F", 31),
            ("true", True),
            ("no", "no"),
            ("on", "on"),
            ("12:30", "12:30"),
            ("2024-01-01", "2024-01-01"),
            ("1_000", "1_000"),
            ("~", None),
            ("'5'", "5"),
        ],
    )
    def test_scalars_are_those_of_yaml_1_2(self, text: str, value: object) -> None:
        read = value_of(f"a: {text}")["a"]
        assert (type(read), read) == (type(value), value)

    def test_an_anchor_repeats_a_layer(self) -> None:
        text = "version: 1\nnetwork: {layers: [&l {neurons: 8}, *l]}\n"
        spec = parse_spec_file(text.encode(), "x.yaml").spec()
        assert [layer.neurons for layer in spec.network.layers] == [8, 8]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"version: 1\n")))
        file = read_spec_file(Path("-"))
        assert (file.name, file.value) == ("(standard input)", {"version": 1})

    def test_a_byte_order_mark_is_no_content(self) -> None:
        assert parse_spec_file(b"\xef\xbb\xbfversion: 1", "x.yaml").value == {"version": 1}


class TestProblems:
    def test_each_problem_has_its_line(self) -> None:
        text = (
            "version: 1\n"
            "seed: -1\n"
            "network:\n"
            "  layers:\n"
            "    - {neurons: 8}\n"
            "    - neurons: 0\n"
            "      decay: 2\n"
            "    - decay: 0.5\n"
            "colour: red\n"
        )
        assert sorted(problems_of(text)) == [
            (2, "/seed", "out_of_range"),
            (6, "/network/layers/1/neurons", "out_of_range"),
            (7, "/network/layers/1/decay", "out_of_range"),
            (8, "/network/layers/2/neurons", "missing"),
            (9, "/colour", "unknown_field"),
        ]

    def test_a_missing_field_is_reported_at_the_object_that_lacks_it(self) -> None:
        assert problems_of("version: 1\n\nnetwork:\n  delay: 0\n") == [
            (3, "/network/layers", "missing")
        ]

    def test_json_has_lines_too(self) -> None:
        text = '{\n  "version": 1,\n  "network": {\n    "layers": []\n  }\n}'
        assert problems_of(text) == [(4, "/network/layers", "wrong_length")]

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("a: 1\nb: [1, 2\n", (3, 1)),
            ("a: 1\n\tb: 2\n", (2, 1)),
            ("a: 1\n  b: 2\n", (2, 4)),
            ("a: 1\nb: 2\na: 3\n", (3, 1)),
            ("l:\n  - {x: 1, 'x': 2}\n", (2, 12)),
            ("a: !!python/object/apply:os.system ['true']\n", (1, 4)),
            ("a: !custom 1\n", (1, 4)),
            ("a: *nowhere\n", (1, 4)),
            ("a: 1\n---\nb: 2\n", (2, 1)),
            ("a: " + "9" * 5000, (1, 4)),
            ("? [1, 2]\n: 3\n", (1, 3)),
            ("a: !!float few\n", (1, 4)),
            ("a: !!float ''\n", (1, 4)),
            ("a: !!bool few\n", (1, 4)),
            ("a: !!timestamp few\n", (1, 4)),
            ("a: !!timestamp 2001-99-99\n", (1, 4)),
            ('a: "\\U00110000"\n', (1, 7)),
            ('a: "\\UFFFFFFFF"\n', (1, 7)),
            ("a: &x {b: 1}\n!!merge <<: *x\n", (2, 1)),
        ],
        ids=lambda value: repr(value)[:30],
    )
    def test_what_is_no_yaml_has_its_line_and_column(
        self, text: str, place: tuple[int, int]
    ) -> None:
        with pytest.raises(InvalidSpec) as caught:
            parse_spec_file(text.encode(), "x.yaml")
        (problem,) = caught.value.problems
        assert isinstance(problem, PlacedProblem)
        assert problem.code == "invalid_yaml"
        assert (problem.line, problem.column) == place
        assert f"x.yaml:{place[0]}:{place[1]}: " in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "the file is empty"),
            (b"# nothing\n", "the file is empty"),
            (b"a: 1\nb: \xff\n", r"x.yaml:2: not UTF-8"),
            (b"a: 1\nb: \x00\n", r"x.yaml:2: the character U\+0000 is not allowed"),
            (b"[" * 100_000, "nested too deeply"),
            (b"#" * (4 * 2**20 + 1), "more than 4,194,304 bytes"),
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_what_is_no_text(self, content: bytes, message: str) -> None:
        with pytest.raises(InvalidSpec, match=message):
            parse_spec_file(content, "x.yaml")

    @pytest.mark.parametrize(
        "text", ["seed: 2024-01-01", "seed: !!timestamp 2024-01-01", "seed: !!binary aGk=", "5: 1"]
    )
    def test_what_yaml_has_and_json_has_not(self, text: str) -> None:
        problems = problems_of(f"version: 1\nnetwork: {{layers: [{{neurons: 8}}]}}\n{text}\n")
        assert [line for line, _, _ in problems] == [3]

    @pytest.mark.verify
    def test_many_keys_are_compared_in_linear_time(self) -> None:
        text = "".join(f"k{number}: 1\n" for number in range(40_000))
        began = time.process_time()
        problems_of(text)
        assert time.process_time() - began < 20.0  # with comparisons in pairs: above 30 s

    def test_a_long_list_is_read_in_linear_time(self) -> None:
        text = f"[{', '.join(['1'] * 300_000)}]"
        began = time.process_time()
        assert len(parse_spec_file(text.encode(), "x.yaml").value) == 300_000
        assert time.process_time() - began < 15.0  # with a parser in Python: 28 s

    @pytest.mark.parametrize("bad", ["[", "- ", "{a: ", "? ", "[{a: "])
    def test_deep_nesting_is_refused(self, bad: str) -> None:
        with pytest.raises(InvalidSpec, match="nested too deeply"):
            parse_spec_file(bad.encode() * 200_000, "x.yaml")

    def test_a_key_is_the_text_that_was_written(self) -> None:
        text = "version: 1\nnetwork: {layers: [{neurons: 8}]}\n"
        keys = {"true": "/true", "~": "/~0", "null": "/null", "1.0": "/1.0", "0x1": "/0x1"}
        for line, (key, pointer) in enumerate(keys.items(), 3):
            text += f"{key}: 1\n"
            assert problems_of(text)[-1] == (line, pointer, "unknown_field")
        assert value_of("a: {1: x, true: y}") == {"a": {"1": "x", "true": "y"}}

    @pytest.mark.parametrize("text", ["1: a\n'1': b", "true: a\n'true': b", "a: 1\n[b]: 1"])
    def test_a_key_that_json_could_not_have_has_its_line(self, text: str) -> None:
        assert [line for line, _, _ in problems_of(text)] == [2]

    def test_json_is_read_as_json(self) -> None:
        spec = {"version": 1, "name": "x", "network": {"layers": [{"neurons": 8}]}}
        text = json.dumps({**spec, "name": "\U0001f600\\", "odd": 1}, indent="\t")
        assert "\\ud83d\\ude00" in text
        assert problems_of(text)[0][1:] == ("/odd", "unknown_field")
        assert value_of(text)["name"] == "\U0001f600\\"
        long = json.dumps({**spec, "x" * 2000: 1}, indent=1)  # YAML limits such keys
        [(_, pointer, code)] = problems_of(long)
        assert (pointer, code) == (f"/{'x' * 100}", "unknown_field")

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="No such file"):
            read_spec_file(tmp_path / "none.yaml")

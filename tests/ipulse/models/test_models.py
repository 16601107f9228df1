"""Models accept exactly what their fields say and report every problem with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import TypeAdapter

from ipulse.models import (
    MAX_INTEGER,
    ByKind,
    ByShape,
    ExactInteger,
    Field,
    Integer,
    ListOf,
    StrictModel,
    Text,
    TextByKey,
    unit,
    validate,
)
from ipulse_core.errors import InvalidInput, Problem


class Circle(StrictModel):
    radius: float = Field(gt=0.0, description="Radius.", json_schema_extra=unit("m"))
    kind: Literal["circle"] = "circle"


class Square(StrictModel):
    side: float = Field(gt=0.0)
    kind: Literal["square"] = "square"


class Round(StrictModel):
    name: Literal["round"] = "round"
    corner: float = Field(default=0.5, gt=0.0)


class Notched(StrictModel):
    depth: float = Field(gt=0.0)
    name: Literal["notched"] = "notched"


class Automatic(StrictModel):
    least: int = Field(default=1, ge=1)


Size = Annotated[int, Field(ge=1, le=9)]
Word = Annotated[Text, Field(max_length=4)]
Name = Annotated[str, Field(pattern="^[a-z]+$")]
Weight = Annotated[float, Field(gt=0.0)]


class Drawing(StrictModel):
    """Some shapes."""

    shapes: ListOf[Annotated[Circle | Square, ByKind()]] = Field(max_length=3)
    filled: bool = False
    sizes: ListOf[Size] = ()
    words: ListOf[Word] = ()
    names: ListOf[Name] = ()
    note: Name | None = None
    count: Integer = 0
    columns: Annotated[Literal[1, 2], ExactInteger] = 1
    labels: TextByKey = Field(default={}, max_length=2)
    frame: Annotated[Round | Notched, ByKind(default="round", tag="name")] = Round()
    width: Annotated[Size | Automatic, ByShape()] | None = None
    weight: Annotated[Weight | ListOf[Weight], ByShape()] = 1.0

    def problems(self) -> Iterator[Problem]:
        if self.filled and not self.shapes:
            yield Problem("/filled", "inconsistent", "there is nothing to fill")


def problems_of(value: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        validate(Drawing, value)
    return [(problem.pointer, problem.code) for problem in caught.value.problems]


def problems_with(**fields: Any) -> list[tuple[str, str]]:
    return problems_of({"shapes": [], **fields})


class TestUnions:
    def test_the_kind_selects_the_class(self) -> None:
        shapes = [{"kind": "square", "side": 2}, {"kind": "circle", "radius": 1}]
        drawing = validate(Drawing, {"shapes": shapes})
        assert drawing.shapes == (Square(side=2.0), Circle(radius=1.0))

    def test_a_missing_kind_is_reported_with_the_choices(self) -> None:
        with pytest.raises(InvalidInput, match="/shapes/0/kind: one of circle, square"):
            validate(Drawing, {"shapes": [{"radius": 1}]})

    def test_the_kind_of_the_default_may_be_left_out(self) -> None:
        assert validate(Drawing, {"shapes": [], "frame": {"corner": 2}}).frame == Round(corner=2.0)
        notched = {"shapes": [], "frame": {"name": "notched", "depth": 1}}
        assert validate(Drawing, notched).frame == Notched(depth=1.0)
        assert problems_with(frame={"depth": 1}) == [("/frame/depth", "unknown_field")]
        assert problems_with(frame={"name": "square"}) == [("/frame/name", "not_a_choice")]

    @pytest.mark.parametrize("kind", [None, 1, ["circle"], {}], ids=str)
    def test_a_kind_that_is_not_text_is_refused(self, kind: Any) -> None:
        shape = {"kind": kind, "radius": 1}
        assert problems_of({"shapes": [shape]}) == [("/shapes/0/kind", "not_a_choice")]

    def test_only_fields_of_the_selected_kind_are_known(self) -> None:
        value = {"shapes": [{"kind": "square", "side": 1, "radius": 2}]}
        assert problems_of(value) == [("/shapes/0/radius", "unknown_field")]

    def test_a_field_may_be_called_like_its_kind(self) -> None:
        value = {"shapes": [{"kind": "square", "side": 1, "square": {"square": 0}}]}
        assert problems_of(value) == [("/shapes/0/square", "unknown_field")]

    def test_other_unions_are_selected_by_json_type(self) -> None:
        def width(value: Any) -> Any:
            return validate(Drawing, {"shapes": [], "width": value}).width

        assert [width(None), width(3), width({})] == [None, 3, Automatic()]
        assert problems_with(width=0) == [("/width", "out_of_range")]
        assert problems_with(width={"least": 0}) == [("/width/least", "out_of_range")]
        with pytest.raises(InvalidInput, match="/width: must be an integer or an object; got a l"):
            width([1])

    def test_a_number_or_a_list_of_numbers(self) -> None:
        def weight(value: Any) -> Any:
            return validate(Drawing, {"shapes": [], "weight": value}).weight

        assert [weight(2), weight([1, 0.5])] == [2.0, (1.0, 0.5)]
        assert problems_with(weight=[1, 0]) == [("/weight/1", "out_of_range")]
        with pytest.raises(InvalidInput, match="/weight: must be a number or a list; got an obj"):
            weight({})
        with pytest.raises(InvalidInput, match="/weight: must be a number; got 'heavy'"):
            weight("heavy")


class TestFields:
    def test_the_limits_of_items_are_checked(self) -> None:
        assert problems_with(sizes=[1, 0, 10]) == [
            ("/sizes/1", "out_of_range"),
            ("/sizes/2", "out_of_range"),
        ]

    @pytest.mark.parametrize(
        ("text", "code"),
        [("wordy", "too_long"), ("a\x1b", "control_character"), (1, "wrong_type")],
    )
    def test_each_text_of_a_list_is_checked(self, text: object, code: str) -> None:
        words = ["word", "", "a\tb\n"]
        assert validate(Drawing, {"shapes": [], "words": words}).words == tuple(words)
        assert problems_with(words=[*words, text]) == [("/words/3", code)]
        assert problems_with(names=["a", "A"]) == [("/names/1", "wrong_form")]

    def test_an_optional_field_keeps_its_limits(self) -> None:
        assert validate(Drawing, {"shapes": [], "note": None}).note is None
        assert problems_with(note="A") == [("/note", "wrong_form")]

    def test_a_pattern_matches_the_whole_text(self) -> None:
        assert problems_with(note="ab1") == [("/note", "wrong_form")]
        assert problems_with(note="ab\n") == [("/note", "wrong_form")]

    @pytest.mark.parametrize(
        ("field", "value"), [("filled", 1), ("count", "1"), ("count", 1.0), ("count", True)]
    )
    def test_nothing_is_coerced(self, field: str, value: object) -> None:
        assert problems_with(**{field: value}) == [(f"/{field}", "wrong_type")]

    @pytest.mark.parametrize("value", [True, 1.0, "1", 3])
    def test_a_choice_of_integers_is_exact(self, value: object) -> None:
        assert problems_with(columns=value) == [("/columns", "not_a_choice")]

    def test_integers_are_those_that_json_keeps_exactly(self) -> None:
        assert validate(Drawing, {"shapes": [], "count": MAX_INTEGER}).count == MAX_INTEGER
        assert problems_with(count=MAX_INTEGER + 1) == [("/count", "out_of_range")]
        assert problems_with(weight=10**400) == [("/weight", "out_of_range")]

    @pytest.mark.parametrize("key", ["", "k" * 65, "a\0", 5, None], ids=repr)
    def test_keys_are_short_printable_text(self, key: Any) -> None:
        assert problems_with(labels={key: "x"}) == [(f"/labels/{key}", "bad_key")]

    def test_an_object_may_have_so_many_entries(self) -> None:
        assert problems_with(labels={"a": "", "b": "", "c": ""}) == [("/labels", "wrong_length")]


class TestProblems:
    def test_all_are_reported_at_once(self) -> None:
        shapes = [{"kind": "square", "side": 0, "colour": 1}, {"kind": "disc"}]
        assert problems_of({"shapes": shapes, "filled": 1, "a/b~": 2}) == [
            ("/shapes/0/side", "out_of_range"),
            ("/shapes/0/colour", "unknown_field"),
            ("/shapes/1/kind", "not_a_choice"),
            ("/filled", "wrong_type"),
            ("/a~1b~0", "unknown_field"),
        ]

    def test_beyond_a_hundred_they_are_counted(self) -> None:
        problems = problems_with(sizes=[0] * 150)
        assert len(problems) == 101
        assert problems[-1] == ("", "too_many_problems")

    def test_rules_between_fields_are_checked_once_the_fields_are_valid(self) -> None:
        assert problems_with(filled=True) == [("/filled", "inconsistent")]
        assert problems_with(filled=True, sizes=[0]) == [("/sizes/0", "out_of_range")]

    def test_rules_between_fields_also_hold_in_python(self) -> None:
        with pytest.raises(ValueError, match="there is nothing to fill"):
            Drawing(shapes=(), filled=True)

    def test_a_bound_is_named_with_the_value(self) -> None:
        with pytest.raises(InvalidInput, match="/sizes/0: 0 is below the minimum of 1"):
            validate(Drawing, {"shapes": [], "sizes": [0]})

    def test_braces_in_a_message_are_kept(self) -> None:
        with pytest.raises(InvalidInput, match=r"got '\{detail\}'"):
            validate(Drawing, {"shapes": [], "count": "{detail}"})


class TestDescription:
    def test_dumping_and_validating_gives_an_equal_object(self) -> None:
        drawing = Drawing(shapes=(Circle(radius=0.5), Square(side=3.0)), sizes=(1, 9), note="ok")
        assert validate(Drawing, drawing.model_dump(mode="json")) == drawing

    def test_the_json_schema_has_units_and_defaults(self) -> None:
        schema = Drawing.model_json_schema()
        assert schema["$defs"]["Circle"]["properties"]["radius"]["unit"] == "m"
        assert schema["properties"]["sizes"]["default"] == []

    def test_the_json_schema_requires_the_kind_unless_it_is_the_defaults(self) -> None:
        frame, shape = (
            TypeAdapter(kind).json_schema()["oneOf"]
            for kind in (
                Annotated[Round | Notched, ByKind(default="round", tag="name")],
                Annotated[Circle | Square, ByKind()],
            )
        )
        assert ["required" in member for member in frame] == [False, True]
        assert ["required" in member for member in shape] == [True, True]

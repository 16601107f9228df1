"""Dataclasses as the schema: the rules of the parser that the spec itself does not exercise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Literal, Optional, Tuple, Union

import pytest

from ipulse_core import parsing, schema
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.schema import described


@dataclass(frozen=True)
class Circle:
    radius: float = described("Radius.", gt=0.0, unit="m")
    kind: Literal["circle"] = "circle"


@dataclass(frozen=True)
class Square:
    side: float = described("Side.", gt=0.0)
    kind: Literal["square"] = "square"


@dataclass(frozen=True)
class Round:
    name: Literal["round"] = described("Which.", default="round")
    corner: float = described("Of its corners.", default=0.5, gt=0.0)


@dataclass(frozen=True)
class Notched:
    depth: float = described("Of its notches.", gt=0.0)
    name: Literal["notched"] = described("Which.", default="notched")


@dataclass(frozen=True)
class Automatic:
    least: int = described("At least.", default=1, ge=1)


@dataclass(frozen=True)
class Drawing:
    """Some shapes."""

    shapes: Tuple[Union[Circle, Square], ...] = described("Shapes.", max_items=3)
    filled: bool = described("Filled.", default=False)
    sizes: Tuple[int, ...] = described("Sizes.", factory=tuple, ge=1, le=9)
    words: Tuple[str, ...] = described("Words.", factory=tuple, max_length=4)
    names: Tuple[str, ...] = described("Names.", factory=tuple, pattern="[a-z]+")
    note: Optional[str] = described("Note.", default=None, pattern="[a-z]+")
    anything: Any = described("Anything.", default=None)
    frame: Union[Round, Notched] = described("Around.", factory=Round)
    width: Union[int, Automatic, None] = described("Width.", default=None, ge=1)
    weight: Union[float, Tuple[float, ...]] = described("Weight.", default=1.0, gt=0.0)

    def problems(self) -> Iterator[Problem]:
        if self.filled and not self.shapes:
            yield Problem("/filled", "inconsistent", "there is nothing to fill")


def problems_of(value: Any) -> List[Tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        parsing.parse(Drawing, value)
    return [(problem.pointer, problem.code) for problem in caught.value.problems]


class TestParse:
    def test_a_union_is_told_by_its_kind(self) -> None:
        drawing = parsing.parse(
            Drawing, {"shapes": [{"kind": "square", "side": 2}, {"kind": "circle", "radius": 1}]}
        )
        assert drawing.shapes == (Square(side=2.0), Circle(radius=1.0))

    def test_a_union_without_its_kind_says_which_there_are(self) -> None:
        with pytest.raises(InvalidInput, match="/shapes/0/kind: one of circle, square"):
            parsing.parse(Drawing, {"shapes": [{"radius": 1}]})

    def test_the_tag_of_the_default_may_be_left_out(self) -> None:
        assert parsing.parse(Drawing, {"shapes": [], "frame": {"corner": 2}}).frame == Round(
            corner=2.0
        )
        notched = {"shapes": [], "frame": {"name": "notched", "depth": 1}}
        assert parsing.parse(Drawing, notched).frame == Notched(depth=1.0)
        assert problems_of({"shapes": [], "frame": {"depth": 1}}) == [
            ("/frame/depth", "unknown_field")
        ]
        assert problems_of({"shapes": [], "frame": {"name": "square"}}) == [
            ("/frame/name", "not_a_choice")
        ]

    def test_other_unions_are_told_by_what_json_has(self) -> None:
        def width(value: Any) -> Any:
            return parsing.parse(Drawing, {"shapes": [], "width": value}).width

        assert [width(None), width(3), width({})] == [None, 3, Automatic()]
        assert problems_of({"shapes": [], "width": 0}) == [("/width", "out_of_range")]
        assert problems_of({"shapes": [], "width": {"least": 0}}) == [
            ("/width/least", "out_of_range")
        ]
        with pytest.raises(InvalidInput, match="/width: must be an integer or an object; got a l"):
            width([1])

    def test_a_number_or_a_list_of_them(self) -> None:
        def weight(value: Any) -> Any:
            return parsing.parse(Drawing, {"shapes": [], "weight": value}).weight

        assert [weight(2), weight([1, 0.5])] == [2.0, (1.0, 0.5)]
        assert problems_of({"shapes": [], "weight": [1, 0]}) == [("/weight/1", "out_of_range")]
        with pytest.raises(InvalidInput, match="/weight: must be a number or a list; got an obj"):
            weight({})
        with pytest.raises(InvalidInput, match="/weight: must be a number; got 'heavy'"):
            weight("heavy")

    def test_only_the_fields_of_that_kind_are_known(self) -> None:
        value = {"shapes": [{"kind": "square", "side": 1, "radius": 2}]}
        assert problems_of(value) == [("/shapes/0/radius", "unknown_field")]

    def test_the_limits_of_a_list_hold_for_its_items(self) -> None:
        assert problems_of({"shapes": [], "sizes": [1, 0, 10]}) == [
            ("/sizes/1", "out_of_range"),
            ("/sizes/2", "out_of_range"),
        ]

    @pytest.mark.parametrize(
        ("text", "code"),
        [("wordy", "too_long"), ("a\x1b", "control_character"), (1, "wrong_type")],
    )
    def test_the_texts_of_a_list_are_sound_each_by_itself(self, text: object, code: str) -> None:
        words = ["word", "", "a\tb\n"]
        assert parsing.parse(Drawing, {"shapes": [], "words": words}).words == tuple(words)
        assert problems_of({"shapes": [], "words": [*words, text]}) == [("/words/3", code)]
        assert problems_of({"shapes": [], "names": ["a", "A"]}) == [("/names/1", "wrong_form")]

    def test_an_optional_field_keeps_its_limits(self) -> None:
        assert parsing.parse(Drawing, {"shapes": [], "note": None}).note is None
        assert problems_of({"shapes": [], "note": "A"}) == [("/note", "wrong_form")]

    def test_a_pattern_is_of_the_whole_text(self) -> None:
        assert problems_of({"shapes": [], "note": "ab1"}) == [("/note", "wrong_form")]
        assert problems_of({"shapes": [], "note": "ab\n"}) == [("/note", "wrong_form")]

    def test_a_number_is_no_boolean(self) -> None:
        assert problems_of({"shapes": [], "filled": 1}) == [("/filled", "wrong_type")]

    def test_anything_is_taken_as_it_is(self) -> None:
        value = {"deep": [1, {"a": None}]}
        assert parsing.parse(Drawing, {"shapes": [], "anything": value}).anything == value

    def test_what_binds_fields_is_asked_only_when_each_is_sound(self) -> None:
        assert problems_of({"shapes": [], "filled": True}) == [("/filled", "inconsistent")]
        assert problems_of({"shapes": [], "filled": True, "sizes": [0]}) == [
            ("/sizes/0", "out_of_range")
        ]

    def test_writing_and_reading_gives_an_equal_value(self) -> None:
        drawing = Drawing(shapes=(Circle(radius=0.5), Square(side=3.0)), sizes=(1, 9), note="ok")
        assert parsing.parse(Drawing, schema.to_json(drawing)) == drawing

    @pytest.mark.parametrize("hint", [bytes, set, complex], ids=lambda hint: hint.__name__)
    def test_a_type_that_json_has_not_is_the_authors_error(self, hint: Any) -> None:
        with pytest.raises(TypeError, match="cannot have the type"):
            parsing.parse_type(hint, 1)


class TestDescription:
    def test_defaults_are_given_as_json(self) -> None:
        fields: Dict[str, Any] = {
            field.name: schema.default_of(field) for field, _ in schema.fields_of(Drawing)
        }
        assert fields["sizes"] == []
        assert fields["filled"] is False

    def test_units_are_kept(self) -> None:
        units = {field.name: field.metadata.get("unit") for field, _ in schema.fields_of(Circle)}
        assert units["radius"] == "m"

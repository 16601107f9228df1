"""The grammar of equations: what is read, what is refused, and where the mistake is."""

from __future__ import annotations

from random import Random

import pytest

from ipulse_core.equations.parser import MAX_DEPTH, parse
from ipulse_core.equations.tokens import ExpressionError
from ipulse_core.equations.tree import Constant, Operation, Variable, depth
from tests.equations import random_text

NAMES = ["u", "a", "theta", "I"]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("u + a * I", "u + (a * I)"),
        ("u - a - I", "(u - a) - I"),
        ("u / a * I", "(u / a) * I"),
        ("-u * a", "(-u) * a"),
        ("u + 1 < a * 2", "(u + 1) < (a * 2)"),
        ("- - u", "-(-u)"),
        (" u\t+1. ", "u + 1.0"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    assert parse(text, NAMES) == parse(same, NAMES)


@pytest.mark.old_python
def test_trees() -> None:
    assert parse("-2.5e-1", NAMES) == Constant(-0.25)
    assert parse("where(u > 0, new(a), 1)", NAMES, ["a"]) == Operation(
        "where",
        (
            Operation("greater", (Variable("u"), Constant(0.0))),
            Variable("new(a)"),
            Constant(1.0),
        ),
    )


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("", 1, ""),
        ("u +", 4, ""),
        ("u + )", 5, ""),
        ("(u + a", 7, "')'"),
        ("u a", 3, ""),
        ("u + thta", 5, "theta"),
        ("ab(u)", 1, "abs"),
        ("u ** 2", 4, ""),
        ("u ^ 2", 3, "square"),
        ("u = 2", 3, "=="),
        ("min(u)", 1, "2 arguments"),
        ("where(u, a)", 1, "3 arguments"),
        ("abs", 1, "parentheses"),
        ("u(a)", 1, "multiply"),
        ("new(u)", 1, "updated"),
        ("u < a < I", 7, "min"),
        ("1e39", 1, "float32"),
        ("u +\na", 4, "one line"),
        ("u.real", 1, "known are"),
        ("u if a else I", 3, ""),
        ("'u'", 1, ""),
    ],
)
def test_mistakes_have_a_column(text: str, column: int, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, NAMES)
    assert caught.value.column == column
    assert hint in caught.value.detail


def test_depth_and_length_are_bounded() -> None:
    assert depth(parse("+".join("u" * (MAX_DEPTH + 1)), NAMES)) == MAX_DEPTH
    for text in ("+".join("u" * (MAX_DEPTH + 2)), "(" * 3000, "-" * 3000 + "u", "abs(" * 900):
        with pytest.raises(ExpressionError, match="nested"):
            parse(text, NAMES)
    with pytest.raises(ExpressionError, match="characters"):
        parse("u" * 5000, NAMES)


def fuzz(seed: int, count: int) -> None:
    random = Random(seed)
    parsed = 0
    for _ in range(count):
        text = random_text(random)
        try:
            tree = parse(text, NAMES, ["u", "a"])
        except ExpressionError as error:
            column = error.column
        else:
            parsed, column = parsed + 1, 1
            assert depth(tree) <= MAX_DEPTH
        assert 1 <= column <= len(text) + 1, (seed, text)
    assert count / 100 < parsed < count


def test_any_text_is_parsed_or_refused() -> None:
    fuzz(seed=20_260, count=10_000)


@pytest.mark.verify
def test_a_million_texts_are_parsed_or_refused() -> None:
    fuzz(seed=20_261, count=1_000_000)

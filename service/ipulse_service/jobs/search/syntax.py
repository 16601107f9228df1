"""The syntax of the search language: text to a tree of terms."""

# query: all ("OR" all)*
# all:   term+
# term:  "-"? (name op value | word | quoted | "(" query ")")
# name:  a text without spaces and operators, or label. and a quoted one
# op:    ":" "=" "!=" "<" "<=" ">" ">="
# value: part ("," part)*, each part quoted, or a text without spaces that may contain "*"
# quoted: '"' characters '"' "*"?, in which a backslash stands before a quotation mark or backslash

from __future__ import annotations

import re

from ipulse_core.limits import CONTROL_CHARACTERS
from ipulse_service.jobs.search.terms import (
    QUOTED,
    AllTerms,
    AnyTerm,
    ComparisonTerm,
    InvalidQuery,
    NotTerm,
    QueryText,
    Term,
    WordTerm,
    invalid,
    unquoted,
)

MAX_QUERY = 2_000  # characters
MAX_TERMS = 100
MAX_DEPTH = 20  # of parentheses
MAX_STARS = 4  # in one text: a database tries every way to divide the text between them
ORDERED = ("<", "<=", ">", ">=")

NAME = re.compile(rf"label\.{QUOTED}|[A-Za-z_/][^\s()\":=!<>,*]*", re.DOTALL)
_QUOTED = re.compile(QUOTED, re.DOTALL)
_OPERATOR = re.compile(r"\s*(!=|<=|>=|=|<|>)\s*|:\s*")
_WORD = re.compile(r"[^\s()\"]+")
_PART = re.compile(r"[^\s()\",]+")
_SPACE = re.compile(r"\s*")
_OR = re.compile(r"OR(?![^\s()\"])")
_AND = re.compile(r"AND(?![^\s()\"])")


def parse(text: str) -> Term | None:
    """Returns the tree of a query, None for an empty one. Raises InvalidQuery with the place."""
    if len(text) > MAX_QUERY:
        detail = f"a query has at most {MAX_QUERY:,} characters; this one has {len(text):,}"
        raise invalid("too_long", detail, MAX_QUERY, len(text) - MAX_QUERY)
    control = CONTROL_CHARACTERS.search(text)
    if control:
        raise invalid("syntax", "a query has no control characters", control.start(), 1)
    return _Parser(text).query()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._terms = 0
        self._depth = 0

    def query(self) -> Term | None:
        self._skip_space()
        if self._is_at_end():
            return None
        term = self._any()
        if not self._is_at_end():
            raise self._error("this `)` closes nothing", 1)
        return term

    def _any(self) -> Term:
        terms = [self._all()]
        while self._takes(_OR):
            terms.append(self._all())
        return terms[0] if len(terms) == 1 else AnyTerm(tuple(terms))

    def _all(self) -> Term:
        terms: list[Term] = []
        while not self._is_at_end() and self._text[self._at] != ")" and not self._sees(_OR):
            if terms and self._takes(_AND):
                continue
            terms.append(self._term())
            self._skip_space()
        if not terms:
            raise self._error("expected a term, such as state:running", 0)
        return terms[0] if len(terms) == 1 else AllTerms(tuple(terms))

    def _term(self) -> Term:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise self._error(f"a query has at most {MAX_TERMS} terms", 0, "too_complex")
        character = self._text[self._at]
        if character == "-":
            self._at += 1
            if self._is_at_end() or self._text[self._at] in " -)":
                raise self._error("expected a term right after `-`", 0)
            return NotTerm(self._term())
        if character == "(":
            return self._group()
        if character == '"':
            return WordTerm(self._quoted())
        name = NAME.match(self._text, self._at)
        operator = _OPERATOR.match(self._text, name.end()) if name else None
        if name and operator:
            return self._comparison(name, operator)
        if self._text[self._at] in ":=!<>,":
            raise self._error("expected a name before the operator", 1)
        return WordTerm(self._match(_WORD))

    def _group(self) -> Term:
        opened = self._at
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            detail = f"parentheses are nested more than {MAX_DEPTH} deep"
            raise self._error(detail, 0, "too_complex")
        self._skip_space()
        term = self._any()
        if self._is_at_end():
            raise invalid("syntax", "this `(` is not closed", opened, 1)
        self._at += 1
        self._depth -= 1
        return term

    def _comparison(self, name: re.Match[str], operator: re.Match[str]) -> Term:
        written = operator.group().strip()
        self._at = operator.end()
        values = [self._value(written)]
        while not self._is_at_end() and self._text[self._at] == ",":
            self._at += 1
            values.append(self._value(","))
        if len(values) > 1 and written in ORDERED:
            detail = f"`{written}` takes a single value, not a list"
            raise invalid("syntax", detail, values[1].position - 1, 1)
        named = QueryText(name.group(), name.start(), name.end() - name.start())
        return ComparisonTerm(named, "=" if written == ":" else written, tuple(values))

    def _value(self, after: str) -> QueryText:
        if not self._is_at_end() and self._text[self._at] == '"':
            return self._quoted()
        if self._is_at_end() or not _PART.match(self._text, self._at):
            raise self._error(f"expected a value after `{after}`", 0)
        return self._match(_PART)

    def _quoted(self) -> QueryText:
        opened = self._at
        match = _QUOTED.match(self._text, opened)
        if match is None:
            raise invalid("syntax", "this quotation mark is not closed", opened, 1)
        is_prefix = self._text.startswith("*", match.end())
        self._at = match.end() + is_prefix
        text = unquoted(match.group()[1:-1])
        return QueryText(text, opened, self._at - opened, is_quoted=True, is_prefix=is_prefix)

    def _match(self, form: re.Pattern[str]) -> QueryText:
        match = form.match(self._text, self._at)
        assert match is not None  # noqa: S101 - the caller has looked
        self._at = match.end()
        value = QueryText(match.group(), match.start(), len(match.group()))
        if value.text.count("*") > MAX_STARS:
            detail = f"a text has at most {MAX_STARS} stars"
            raise invalid("too_complex", detail, value.position, value.length)
        return value

    def _takes(self, form: re.Pattern[str]) -> bool:
        self._skip_space()
        match = form.match(self._text, self._at)
        if match is None:
            return False
        self._at = match.end()
        self._skip_space()
        return True

    def _sees(self, form: re.Pattern[str]) -> bool:
        return form.match(self._text, self._at) is not None

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # noqa: S101 - it matches nothing, too
        self._at = match.end()

    def _is_at_end(self) -> bool:
        return self._at >= len(self._text)

    def _error(self, detail: str, length: int, code: str = "syntax") -> InvalidQuery:
        return invalid(code, detail, self._at, length)

"""Tables and lists of the report. Cells are markup: whoever fills them escapes."""

from __future__ import annotations

from html import escape
from typing import Sequence, Tuple


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: Sequence[int] = (),
    sum_row: bool = False,
) -> str:
    """Columns align right, but for the first and those in `words`; sum_row: the last is a sum."""

    def cell(tag: str, column: int, content: str) -> str:
        kind = ' class="words"' if column in words else ""
        return f"<{tag}{kind}>{content}</{tag}>"

    head = "".join(cell("th", column, escape(text)) for column, text in enumerate(heads))
    body = []
    for number, row in enumerate(rows, start=1):
        kind = ' class="sum"' if sum_row and number == len(rows) else ""
        cells = "".join(cell("td", column, content) for column, content in enumerate(row))
        body.append(f"<tr{kind}>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def definitions(facts: Sequence[Tuple[str, str]]) -> str:
    """Terms and plain texts, escaped here."""
    return "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in facts)


def tiles(facts: Sequence[Tuple[str, str, str]]) -> str:
    """Large figures: (what, figure, note), plain texts, escaped here."""
    return "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(figure)}<small>{escape(note)}</small></dd></div>"
        for what, figure, note in facts
    )


def swatch(colour: int) -> str:
    """The mark that ties a table's row to a bar's part."""
    return f'<span class="swatch b{colour}"></span>'


def meter(share: float) -> str:
    """A little bar for a share in [0, 1]; the number stands beside it."""
    return f'<span class="meter" aria-hidden="true"><i style="width:{100 * share:.1f}%"></i></span>'

"""One data set as CSV files of many programs: 40 samples of 12 events, 12 channels, 2 classes."""

import random
from typing import Callable, Dict, List, Tuple

Row = Tuple[int, float, int, int]
HEAD = ("sample", "time_ms", "channel", "label")


def _rows() -> List[Row]:
    draw = random.Random(1)
    return [
        (sample, round(draw.uniform(0, 20), 3), draw.randrange(8) + 4 * (sample % 2), sample % 2)
        for sample in range(40)
        for _ in range(12)
    ]


ROWS = _rows()


def csv_text(
    separator: str = ",",
    head: Tuple[str, ...] = HEAD,
    end: str = "\n",
    cells: Callable[[Row], List[str]] = lambda row: [str(value) for value in row],
) -> str:
    """Return the rows as the text of a file."""
    lines = [separator.join(head), *(separator.join(cells(row)) for row in ROWS)]
    return end.join(lines) + end


def _commas(row: Row) -> List[str]:
    return [str(value).replace(".", ",") for value in row]


def _floats(row: Row) -> List[str]:
    return [f"{value:.1f}" if isinstance(value, int) else str(value) for value in row]


_QUOTED = tuple(f'"{name}"' for name in HEAD)
PLAIN = csv_text()
# Files that all have the data of PLAIN.
ACCEPTED: Dict[str, bytes] = {
    "plain": PLAIN.encode(),
    "byte_order_mark": csv_text(end="\r\n").encode("utf-8-sig"),
    "exponents": csv_text(
        cells=lambda row: [str(row[0]), f"{row[1]:e}", str(row[2]), str(row[3])]
    ).encode(),
    "semicolon": csv_text(";").encode(),
    "semicolon_decimal_comma": csv_text(";", cells=_commas).encode(),
    "tab": csv_text("\t").encode(),
    "tab_decimal_comma": csv_text("\t", cells=_commas).encode(),
    "vertical_bar": csv_text("|").encode(),
    "space": csv_text(" ").encode(),
    "aligned": csv_text("   ").encode(),
    "space_after_comma": csv_text(", ").encode(),
    "utf16": PLAIN.encode("utf-16"),
    "utf16_big_endian": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "utf16_without_mark": PLAIN.encode("utf-16-le"),
    "utf16_tab": csv_text("\t", end="\r\n").encode("utf-16"),  # "Unicode text" of spreadsheets
    "utf32": PLAIN.encode("utf-32"),
    "quoted_head": csv_text(head=_QUOTED).encode(),
    "quoted_cells": csv_text(
        head=_QUOTED, cells=lambda row: [f'"{value}"' for value in row]
    ).encode(),
    "quoted_decimal_comma": csv_text(
        ";", head=_QUOTED, cells=lambda row: [f'"{cell}"' for cell in _commas(row)]
    ).encode(),
    "capitals": csv_text(head=("Sample", "Time_ms", "Channel", "LABEL")).encode(),
    "carriage_return": csv_text(end="\r").encode(),
    "floats": csv_text(cells=_floats).encode(),
    "floats_decimal_comma": csv_text(
        ";", cells=lambda row: [cell.replace(".", ",") for cell in _floats(row)]
    ).encode(),
    "comments": f"# recorded in room 5\n#\n{PLAIN}\n# the end\n".encode(),
    "comment_in_latin1": "# Größe\n".encode("latin-1") + PLAIN.encode(),
    "head_in_comment": f"# made by a script\n# {PLAIN}".encode(),
    "separator_line": f"sep=;\r\n{csv_text(';')}".encode(),
    "empty_lines": (PLAIN.replace("\n", "\n\n") + ",,,\n").encode(),
    "other_order": csv_text(
        head=("label", "channel", "time_ms", "sample"), cells=lambda row: _floats(row)[::-1]
    ).encode(),
}
# Files that are refused, with what the message quotes.
REFUSED: Dict[str, Tuple[bytes, Tuple[str, ...]]] = {
    "other_names": (csv_text(";", head=("s", "t", "c", "l")).encode(), ("s;t;c;l", "semicolon")),
    "no_head": (PLAIN.partition("\n")[2].encode(), ("0,2.687", "comma")),
    "index": (("," + PLAIN).encode(), (",sample,time_ms,channel,label", "comma")),
    "one_column": (b"sample\n1\n2\n", ("'sample'", "none")),
    "no_table": (b'{"sample": [0, 1]}\n', ('{"sample": [0, 1]}', "line 1")),
    "comma_in_commas": (csv_text(cells=_commas).encode(), ("line 2", "5 cells", "comma")),
    "quoted_comma": (
        csv_text(cells=lambda row: [f'"{cell}"' for cell in _commas(row)]).encode(),
        ("line 2", "time_ms", "2,687", "comma"),
    ),
    "thousands_or_decimals": (
        b"sample;time_ms;channel;label\n0;1,250;0;0\n1;2,500;1;1\n",
        ("line 2", "thousands"),
    ),
    "both_decimals": (
        b"sample;time_ms;channel;label\n0;0,25;0;0\n1;0.5;1;1\n",
        ("line 2", "line 3"),
    ),
    "no_number": (PLAIN.encode() + b"40,early,1,0\n", ("line 482", "time_ms", "early")),
    "no_whole_number": (PLAIN.encode() + b"40,1,1.5,0\n", ("line 482", "channel", "1.5")),
    "no_time": (PLAIN.encode() + b"40,nan,1,0\n", ("line 482", "time_ms", "nan")),
    "negative": (PLAIN.encode() + b"40,1,-1,0\n", ("line 482", "channel", "-1")),
    "missing_cell": (PLAIN.encode() + b"40,1,,0\n", ("line 482", "channel", "''")),
    "short": (PLAIN.encode() + b"40,1,1\n", ("line 482", "3 cells", "comma")),
    "open_quote": (PLAIN.encode() + b'40,1,1,"0\n', ("line 482", "quotation mark")),
    "quote_inside": (PLAIN.encode() + b'40,1,1,"0"0\n', ("line 482", "quotation mark")),
    "nul": (PLAIN.encode() + b"40,1,\0,0\n", ("line 482",)),
    "samples_from_one": (
        csv_text(cells=lambda row: [str(row[0] + 1), *map(str, row[1:])]).encode(),
        ("sample 0", "count from 0"),
    ),
}
LABELS_FROM_ONE = csv_text(
    cells=lambda row: [str(row[0]), str(row[1]), str(row[2] + 1), str(row[3] + 1)]
).encode()

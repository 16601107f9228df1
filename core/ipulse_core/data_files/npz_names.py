"""Says which arrays of an npz file to rename, where none of them has a name that is read."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.npz_file import NpyHeader, NpzFile, opened_npz

GUIDE = "docs/guides/own_data.md"
MOST = 8  # arrays that a message lists
_LONGEST = 60  # of the names in a message, in characters
_NAMES_BY_AXES = {3: "spikes", 2: "values"}  # of the arrays with samples


class _Pair(NamedTuple):
    """An array with samples, and the one with their labels."""

    samples: str
    labels: str


def renaming_advice(path: Path) -> str:
    """Return the arrays of a file and one line of NumPy that renames them, as far as it is clear.

    It is empty if the file cannot be read.
    """
    try:
        with opened_npz(path, None) as file:
            return _advice(file)
    except DataInvalid:
        return ""


def _advice(file: NpzFile) -> str:
    headers = file.headers
    listed = [f"{_shown(name)} {header.dtype} {header.shape}" for name, header in headers.items()]
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    found = f"; it has {', '.join(listed[:MOST])}{more}"
    pairs = _pairs(headers)
    if not pairs:
        return f"{found}; {GUIDE} shows how to write one"
    train = next((pair for pair in pairs if not _is_test(pair)), pairs[0])
    data = _NAMES_BY_AXES[len(headers[train.samples].shape)]
    test = next((pair for pair in pairs if _continues(headers, train, pair)), None)
    return f"{found}; rename to {data} and labels: {_line(headers, data, train, test)} ({GUIDE})"


def _pairs(headers: Dict[str, NpyHeader]) -> List[_Pair]:
    """Return which labels belong to which samples: of equal length, with the most similar names."""
    labels = [
        name
        for name, header in headers.items()
        if len(header.shape) == 1 and header.dtype.kind in "iu" and len(name) <= _LONGEST
    ]
    pairs = []
    for name, header in headers.items():
        if len(header.shape) not in _NAMES_BY_AXES or len(name) > _LONGEST:
            continue
        fitting = [other for other in labels if headers[other].shape[0] == header.shape[0]]
        if fitting:
            pairs.append(_Pair(name, max(fitting, key=lambda other: _common(name, other))))
    return pairs


def _common(name: str, other: str) -> int:
    """Return the length of the common end of two names, as of x_train and y_train."""
    ends = zip(reversed(name), reversed(other))
    return sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], ends))


def _is_test(pair: _Pair) -> bool:
    return "test" in pair.samples.lower() or "test" in pair.labels.lower()


def _continues(headers: Dict[str, NpyHeader], train: _Pair, pair: _Pair) -> bool:
    """Return whether a pair is the test set of the other."""
    shapes = [headers[one.samples].shape[1:] for one in (train, pair)]
    apart = not set(train) & set(pair)
    return apart and _is_test(pair) and not _is_test(train) and shapes[0] == shapes[1]


def _line(headers: Dict[str, NpyHeader], data: str, train: _Pair, test: Optional[_Pair]) -> str:
    begin = 'old = numpy.load("old.npz"); numpy.savez_compressed("new.npz", '
    if test is None:
        samples, labels = (f"old[{_shown(name)}]" for name in train)
        return f"{begin}{data}={samples}, labels={labels})"
    samples, labels = (
        f"numpy.concatenate([old[{_shown(one)}], old[{_shown(other)}]])"
        for one, other in zip(train, test)
    )
    counts = [headers[one.samples].shape[0] for one in (train, test)]
    is_test = f"numpy.arange({sum(counts)}) >= {counts[0]}"
    return f"{begin}{data}={samples}, labels={labels}, test={is_test})"


def _shown(name: str) -> str:
    return ascii(name[:_LONGEST])

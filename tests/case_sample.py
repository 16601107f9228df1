"""Which cases of tests with many `make test` runs; `make verify` runs the others.

`.ci/run` runs one slice of the others after another (scripts/rotation).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable

import pytest


def outside_sample(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that `make verify` runs alone.

    The sample of a test has each value of each parameter at least once, so that a test with one
    parameter keeps all its cases. A test with the marker `sample(number)` keeps so many cases.
    Which ones depends on the names of the cases only.
    """
    left_out = []
    seen = set()
    kept: Counter[str] = Counter()
    for item in sorted(items, key=_in_mixed_order):
        test, values = _test(item), _values(item)
        marker = item.get_closest_marker("sample")
        if values <= seen if marker is None else kept[test] >= marker.args[0]:
            left_out.append(item)
        kept[test] += 1
        seen |= values
    return left_out


def in_slice(items: Iterable[pytest.Item], rotation: str) -> list[pytest.Item]:
    """Return the cases of one slice: those of "3/8" are the fourth eighth.

    A case stays in its slice whatever other cases there are.
    """
    at, _, count = rotation.partition("/")
    return [item for item in items if _in_mixed_order(item) % int(count) == int(at)]


def _in_mixed_order(item: pytest.Item) -> int:
    """Order cases so that not only the first value of one parameter meets all of another."""
    return zlib.crc32(item.nodeid.encode())


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _values(item: pytest.Item) -> set[tuple[str, str, int]]:
    """Return the values of a case: combinations share the objects that they are made of."""
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params if callspec else {"": item}
    return {(_test(item), name, id(value)) for name, value in parameters.items()}

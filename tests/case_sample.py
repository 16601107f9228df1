"""Which cases of tests with many `make test` runs; `make verify` runs the others.

`.ci/run` runs one slice of the others after another (scripts/rotation).
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from collections.abc import Iterable

import pytest

IS_LATEST = sys.version_info >= (3, 10)
DATABASES = ("sqlite", "postgresql")  # on which tests with the marker `postgresql` run


def outside_sample(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that `make verify` runs alone.

    The sample of a test has each value of each parameter at least once, so that a test with one
    parameter keeps all its cases. A test with the marker `sample(number)` keeps so many cases, and
    with `sample(0)` none. Which ones depends on the names of the cases only. Python 3.8, where a
    test finds what differs in Python or TensorFlow, runs one case of a test.
    """
    left_out = []
    seen = set()
    kept: Counter[str] = Counter()
    for item in sorted(items, key=_in_mixed_order):
        test, values = _test(item), _values(item)
        marker = item.get_closest_marker("sample")
        if _is_on_other_database(item):
            left_out.append(item)
            continue
        adds_nothing = marker is None and values <= seen
        if adds_nothing or kept[test] >= _most_cases(marker):
            left_out.append(item)
        kept[test] += 1
        seen |= values
    return left_out


def in_slice(items: Iterable[pytest.Item], rotation: str) -> list[pytest.Item]:
    """Return the cases of one slice: those of "3/8" are the fourth eighth.

    A case stays in its slice whatever other cases there are. The blocks of a page of the
    documentation, which need those before them, stay together.
    """
    at, _, count = rotation.partition("/")
    return [item for item in items if _crc(_unit(item)) % int(count) == int(at)]


def _most_cases(sample: pytest.Mark | None) -> int:
    most: int = sample.args[0] if sample else sys.maxsize
    return most if IS_LATEST else min(most, 1)


def _is_on_other_database(item: pytest.Item) -> bool:
    """Return whether a case runs on the database that its file does not have in the sample."""
    database = getattr(item, "callspec", None) and item.callspec.params.get("database_settings")
    path = item.nodeid.partition("::")[0]
    return database not in (None, DATABASES[_crc(path) % len(DATABASES)])


def _unit(item: pytest.Item) -> str:
    page = item.nodeid.partition("::")[0]
    return page if page.endswith(".md") else item.nodeid


def _in_mixed_order(item: pytest.Item) -> int:
    """Order cases so that not only the first value of one parameter meets all of another."""
    return _crc(item.nodeid)


def _crc(name: str) -> int:
    return zlib.crc32(name.encode())


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _values(item: pytest.Item) -> set[tuple[str, str, int]]:
    """Return the values of a case: combinations share the objects that they are made of."""
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params if callspec else {"": item}
    return {(_test(item), name, id(value)) for name, value in parameters.items()}

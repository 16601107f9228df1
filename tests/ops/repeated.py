"""How much of a test Python 3.8 repeats: its NumPy and TensorFlow are others, the kernels not."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Iterable, Iterator, Tuple, TypeVar

from hypothesis import settings

IS_REPEATED = sys.version_info < (3, 11)

Case = TypeVar("Case")


def examples(count: int) -> settings:
    """Decorates a property that so many examples shall have; a fifth of them when repeated."""
    return settings(max_examples=count // 5 if IS_REPEATED else count)


def taken(cases: Iterable[Case]) -> Iterator[Tuple[int, Case]]:
    """Every case of a product and its number; when repeated, every seventh.

    Seven goes into no power of two, so that every choice of every factor is still there.
    """
    return islice(enumerate(cases), 0, None, 7 if IS_REPEATED else 1)

"""Run a measurement in a fresh process, so that its peak memory is its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def in_fresh_process(measure: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of a module in a new interpreter; return its result or raise its error."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, *arguments).result()

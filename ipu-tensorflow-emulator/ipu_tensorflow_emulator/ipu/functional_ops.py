"""`ipu.functional_ops`: functions that the compiler keeps apart."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

from ipu_tensorflow_emulator.process import has_no_effect
from ipu_tensorflow_emulator.tensorflow_setup import without_autograph


def outlined_function(
    func: Optional[Callable[..., Any]] = None,
    unique_sharding: bool = False,
    keep_input_layouts: Any = None,
    name: Optional[str] = None,
) -> Any:
    """Return the function; it is not outlined."""

    def decorated(inner: Callable[..., Any]) -> Any:
        has_no_effect("outlined_function")

        @functools.wraps(inner)
        def call(*arguments: Any, **named: Any) -> Any:
            return inner(*arguments, **named)

        return without_autograph(call)

    return decorated if func is None else decorated(func)


function = outlined_function

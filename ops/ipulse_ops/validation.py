"""Arguments of wrong type or size, refused by their name."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np


def whole(name: str, value: Any, least: int = 1, most: Optional[int] = None) -> int:
    """The value as an int.

    Raises ValueError unless it is a whole number, and no bool, from `least` to `most`.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number; got {value!r}")
    if most is not None and not least <= value <= most:
        raise ValueError(f"{name} must be {least} to {most}; got {value}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}; got {value}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """The value as a bool. Raises ValueError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def choice(name: str, value: Any, choices: Tuple[str, ...]) -> str:
    """The value. Raises ValueError if it is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}; got {value}")
    return value


def instance(name: str, value: Any, *kinds: type) -> None:
    """Raises ValueError unless the value is of one of the kinds."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be {names}; got {value!r}")

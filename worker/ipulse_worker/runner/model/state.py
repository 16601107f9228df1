"""State as named arrays, in which checkpoints store the parts of a training."""

from __future__ import annotations

from typing import Dict, List, Sequence

import numpy as np

State = Dict[str, np.ndarray]


def within(prefix: str, state: State) -> State:
    """Return the state with a prefix before every name."""
    return {f"{prefix}/{name}": array for name, array in state.items()}


def part(prefix: str, state: State) -> State:
    """Return the state that `within` stored with this prefix."""
    start = f"{prefix}/"
    return {name[len(start) :]: state[name] for name in state if name.startswith(start)}


def numbered(arrays: Sequence[np.ndarray]) -> State:
    """Name arrays by their position."""
    return {str(number): array for number, array in enumerate(arrays)}


def in_order(state: State) -> List[np.ndarray]:
    """Return the arrays that `numbered` named."""
    return [state[str(number)] for number in range(len(state))]

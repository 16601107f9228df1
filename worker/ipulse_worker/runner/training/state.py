"""State as named arrays: what the parts of a training put into a checkpoint and take out again."""

from __future__ import annotations

from typing import Dict, List, Sequence

import numpy as np

State = Dict[str, np.ndarray]


def within(prefix: str, state: State) -> State:
    """The state of a part, its names put behind the part's."""
    return {f"{prefix}/{name}": array for name, array in state.items()}


def part(prefix: str, state: State) -> State:
    """The state that `within` had put there."""
    start = f"{prefix}/"
    return {name[len(start) :]: state[name] for name in state if name.startswith(start)}


def numbered(arrays: Sequence[np.ndarray]) -> State:
    return {str(number): array for number, array in enumerate(arrays)}


def in_order(state: State) -> List[np.ndarray]:
    """The arrays that `numbered` had named."""
    return [state[str(number)] for number in range(len(state))]

"""Prints what a script dequeues from outfeed queues as lines that become metrics of its job."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import tensorflow as tf

from ipu_tensorflow_emulator import settings
from ipu_tensorflow_emulator.process import STATE
from ipulse_core.metric_names import SCRIPT_METRICS

_MOST = 100  # lines for one call of dequeue()


class OutfeedMetrics:
    """The metrics in the elements of one queue.

    structure: an element, with a leaf for each tensor.
    """

    def __init__(self, structure: Any) -> None:
        """Name the tensors: keys of a dict keep theirs, others take the next free names."""
        wanted = settings.outfeed_metrics()
        if STATE.free_metrics is None:
            STATE.free_metrics = list(wanted)
        free = STATE.free_metrics
        self._names: List[Optional[str]]
        if isinstance(structure, dict) and len(tf.nest.flatten(structure)) == len(structure):
            self._names = [key if key in wanted else None for key in sorted(structure)]
            free[:] = [name for name in free if name not in structure]
        else:
            count = len(tf.nest.flatten(structure))
            self._names = [*free[:count], *[None] * (count - len(free[:count]))]
            del free[:count]

    def show(self, rows: Sequence[Sequence[np.ndarray]], enqueued: int) -> None:
        """Print a line for each element; of many elements, for some of them and the last one.

        rows: the tensors of each element. enqueued: number of the last element in its queue.
        """
        if not any(self._names) or not rows:
            return
        first = enqueued - len(rows) + 1
        every = -(-len(rows) // _MOST)
        for at in range((len(rows) - 1) % every, len(rows), every):
            line: Dict[str, Any] = {"step": first + at}
            line.update(
                (name, _number(value)) for name, value in zip(self._names, rows[at]) if name
            )
            sys.stdout.write(f"{SCRIPT_METRICS}{json.dumps(line)}\n")
        sys.stdout.flush()
        STATE.shown_metrics.update((name, None) for name in self._names if name)


def missing() -> List[str]:
    """Return the wanted metrics of which no value was dequeued."""
    return [name for name in settings.outfeed_metrics() if name not in STATE.shown_metrics]


def _number(value: np.ndarray) -> float:
    """Return a number, or the mean of an array."""
    return float(np.mean(np.asarray(value, np.float64))) if value.size else float("nan")

"""The results of a job, to the bit, so that two machines can be compared."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

VARYING = ("seconds", "per_second", "_bytes")  # ends of what clock and memory say
# The bytes of these files are compared, because they hold no times; of others, the names.
EXACT = ("metrics.jsonl", "spikes.json", "summary.txt")


def left(
    summary: Mapping[str, Any], files: Mapping[str, bytes], printed: Iterable[str]
) -> dict[str, Any]:
    """Return what a job leaves, without what its clock and its memory say.

    Args:
        summary: the final metrics.
        files: the content of each file by its name.
        printed: the lines that the code of its user printed; those of scripts, which say how long
            they took, are left out.
    """
    found: dict[str, Any] = {
        "summary": {name: v for name, v in summary.items() if not name.endswith(VARYING)},
        "printed": [] if "script_report.json" in files else list(printed),
        "files": sorted(files),
        **{name: files[name] for name in EXACT if name in files},
    }
    if "weights.npz" in files:
        found["weights"] = arrays(files["weights.npz"])
    return found


def arrays(content: bytes) -> dict[str, Any]:
    """Return the arrays of an .npz file, in a form that == compares to the bit."""
    with np.load(io.BytesIO(content)) as found:
        return {name: (array.dtype, array.shape, array.tobytes()) for name, array in found.items()}

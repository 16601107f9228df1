"""LIF operators, and what executes them. NumPy only at import; TensorFlow where a file says so."""

from pathlib import Path

# C++ headers that more than one library includes.
SHARED_HEADERS = tuple(sorted(Path(__file__).resolve().parent.glob("*.h")))

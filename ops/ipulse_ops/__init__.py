"""Sparse LIF operators. Importing this package loads neither NumPy nor TensorFlow."""

from pathlib import Path

from ipulse_ops.deprecated import find_former_modules

# C++ headers that several libraries include.
SHARED_HEADERS = tuple(sorted(Path(__file__).resolve().parent.glob("*.h")))

find_former_modules()

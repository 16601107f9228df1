"""TensorFlow imported once, for all tests of the ops."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # TensorFlow 2.6 imports modules that Python 3.8 deprecates; a warning here is an error of ours.
    warnings.simplefilter("ignore", DeprecationWarning)
    import tensorflow  # noqa: F401

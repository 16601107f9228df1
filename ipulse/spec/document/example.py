"""Finds the included examples, of which `ipulse demo` runs digits.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from ipulse_core.errors import NotFound

_PACKAGE = Path(__file__).resolve().parents[2]
# Those that need no file of data.
ExampleName = Literal[
    "cuba",
    "delayed_recall",
    "digits",
    "digits_population",
    "emulator",
    "few_samples",
    "randman",
    "recurrent",
    "recurrent_convolution",
    "spike_count",
    "yin_yang",
]
EXAMPLES: tuple[ExampleName, ...] = get_args(ExampleName)


def example_path(name: ExampleName = "digits") -> Path:
    """Returns the path of an example, in a checkout or in an installation.

    Raises:
        NotFound: It was not installed.
    """
    # The wheel contains the repository's files inside the package.
    for folder in (_PACKAGE / "examples", _PACKAGE.parent / "examples"):
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    raise NotFound(f"{name}.yaml was not installed: name a spec of your own")

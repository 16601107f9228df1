"""Compiles every library of the project into the cache, so that no job has to.

The command is `python -m ipulse_ops.build_cache.prebuild`. What jobs bring themselves (equations,
custom ops, programs) is compiled when they run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List

from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.poplar import build as poplar_op
from ipulse_ops.sparse import native as sparse_native
from poplar_emulator import build as emulator


def main() -> None:
    """Build the libraries that are not in the cache and print the path of each."""
    sys.stdout.write("".join(f"{path}\n" for path in build_all()))


def build_all() -> List[Path]:
    """Return the paths of the libraries for CPUs and for the emulator; build what is missing.

    Raises MissingCompiler, BuildFailed; ImportError without TensorFlow.
    """
    return [
        native.build_kernels(),
        native.build_tensorflow_op(),
        sparse_native.build(),
        emulator.build() / emulator.LIBRARY,
        poplar_op.build().library,
    ]


if __name__ == "__main__":
    main()

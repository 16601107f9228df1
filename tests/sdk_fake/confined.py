"""Runs a confined training with the stand-in for Graphcore's TensorFlow in its process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    sys.path.insert(0, str(ROOT))
    import pytest

    from ipulse_worker.runner import sandboxed_process as process
    from tests import ipu_fake

    ipu_fake.install(pytest.MonkeyPatch()).checks_with_xla = False
    process.main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)

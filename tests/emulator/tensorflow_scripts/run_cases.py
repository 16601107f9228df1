"""Runs cases in one process with emulated IPUs: run_cases.py RESULT MODULE...

TensorFlow takes seconds to import, so the cases of all modules share a process. RESULT is a JSON
object: the traceback of each case that failed, null of the others.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any, Dict, Optional


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    import tensorflow as tf

    from ipu_tensorflow_emulator import process

    outcomes: Dict[str, Optional[str]] = {}
    for name in sys.argv[2:]:
        module: Any = importlib.import_module(f"tests.emulator.tensorflow_scripts.cases.{name}")
        for case in [each for each in vars(module) if each.startswith("case_")]:
            process.reset()
            tf.keras.backend.clear_session()
            try:
                vars(module)[case]()
                outcomes[f"{name}.{case}"] = None
            except Exception:  # noqa: BLE001 (the test that has its name fails with it)
                outcomes[f"{name}.{case}"] = traceback.format_exc()
    Path(sys.argv[1]).write_text(json.dumps(outcomes), "utf-8")


if __name__ == "__main__":
    main()

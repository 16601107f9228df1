"""Ways to turn the emulation on besides its command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

SWITCH = "IPU_TENSORFLOW_EMULATOR"  # importing its module would turn the emulation on here


def ran(arguments: List[str], **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "POPLAR_", "IPU_"))}
    command = [sys.executable, *arguments]
    environment = {**kept, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.old_python
@pytest.mark.parametrize("value", ["1", "0"])
def test_a_variable_turns_it_on_in_programs_that_others_start(value: str) -> None:
    program = "import sys; print('ipu_tensorflow_emulator' in sys.modules)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    assert ran(["-c", outer], **{SWITCH: value}).stdout.split() == [str(value == "1")]


@pytest.mark.verify
@pytest.mark.old_python
def test_an_import_in_conftest_serves_the_tests_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import ipu_tensorflow_emulator\n")
    (tmp_path / "test_scripts.py").write_text(
        "from tensorflow.python import ipu\n"
        "def test_one():\n"
        "    assert ipu.config.IPUConfig().auto_select_ipus == []\n"
        "def test_another():\n"
        "    import tensorflow as tf\n"
        "    strategy = ipu.ipu_strategy.IPUStrategy()\n"
        "    assert strategy.run(tf.function(lambda: tf.constant(1.0))) == 1.0\n"
    )
    done = ran(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)])
    assert "2 passed" in done.stdout
    assert done.stderr.count("is emulated") + done.stdout.count("is emulated") <= 1
    assert "Custom ops on emulated tiles" in done.stderr

"""Scripts from a terminal: what is said, the exit status, the report's files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.compiled import compile_program

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "tensorflow_ipu"


def ran(*arguments: object) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "POPLAR_", "IPU_"))}
    command = [sys.executable, "-m", "ipu_tensorflow_emulator", *map(str, arguments)]
    return subprocess.run(command, env=kept, capture_output=True, text=True, check=False)


def test_a_script_without_ipus_never_claims_to_be_emulated(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text("import sys\nprint(sys.argv[1:])\nsys.exit(3)\n")
    done = ran("--ipus", 2, script, "--epochs", "2")
    assert done.returncode == 3
    assert done.stdout == "['--epochs', '2']\n"
    assert done.stderr.count("\n") == 1
    assert "nothing was emulated" in done.stderr


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("import no_such_package", "no_such_package is not installed here"),
        ("import poptorch", "PopTorch and PopART are not"),
        (
            "import urllib.request; urllib.request.urlopen('http://no.invalid/')",
            "~/.keras/datasets",
        ),
    ],
)
def test_what_a_script_lacks_is_said_with_the_way_on(
    tmp_path: Path, program: str, hint: str
) -> None:
    script = tmp_path / "lacking.py"
    script.write_text(f"{program}\n")
    done = ran(script)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "lacking.py" in done.stderr
    assert "runpy" not in done.stderr  # the script's own frames only
    assert hint in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["lacking.py"]


BAD_SETTINGS = """
import os, sys
os.environ["TF_POPLAR_FLAGS"] = sys.argv[2]
from tensorflow.python import ipu
config = ipu.config.IPUConfig()
config.auto_select_ipus = int(sys.argv[1])
config.configure_ipu_system()
print("ran")
"""


@pytest.mark.verify
@pytest.mark.old_python
@pytest.mark.parametrize(
    ("ipus", "flags", "words"),
    [
        ("64", "", "`--ipus 64` of the command"),
        ("3", "", "a device has 1, 2, 4, 8"),
        ("1", "--use_ipu_modle", "Unknown flag passed in TF_POPLAR_FLAGS: use_ipu_modle"),
    ],
)
def test_settings_that_no_ipu_has_end_the_script(
    tmp_path: Path, ipus: str, flags: str, words: str
) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(BAD_SETTINGS)
    done = ran(script, ipus, flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert "no program was run" in done.stderr
    assert "Custom ops" not in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["wrong.py"]


def test_settings_are_checked_before_the_script_runs(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text("print('ran')\n")
    done = ran("--ipus", 65, script)
    assert (done.returncode, done.stdout) == (2, "")
    assert "from 1 to 64" in done.stderr
    assert ran(tmp_path / "missing.py").returncode == 2


def test_the_real_package_is_left_alone(tmp_path: Path) -> None:
    """A `tensorflow` with the vendor's module stands for Graphcore's wheel."""
    real = tmp_path / "tensorflow" / "python" / "ipu"
    real.mkdir(parents=True)
    for folder in (real, real.parent, real.parent.parent):
        (folder / "__init__.py").write_text("")
    (real / "__init__.py").write_text("REAL = True\n")
    program = "import ipu_tensorflow_emulator; from tensorflow.python import ipu; print(ipu.REAL)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert "nothing is emulated" in done.stderr


@pytest.mark.verify
@pytest.mark.old_python
def test_the_example_trains_and_leaves_a_report(tmp_path: Path) -> None:
    library = compile_program(EXAMPLES / "lif_op.cpp", shared=True)
    script = EXAMPLES / "keras_lif.py"
    done = ran("--tiles", 16, "--report", tmp_path, script, library, "--epochs", 2)
    assert done.returncode == 0, done.stderr
    *_, last = re.findall(r'"accuracy": ([0-9.]+)', done.stdout)
    assert float(last) > 0.9
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    (op,) = report["custom_ops"]
    assert op["calls"]["backward"] == 2 * 8 * 10  # epochs, batches, time steps
    assert op["cycles"] > 0
    assert op["tiles_used"] == 16
    assert (tmp_path / "custom_op_1_Build.json").exists()

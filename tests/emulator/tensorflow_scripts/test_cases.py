"""Scripts for the IPU on stock TensorFlow: values, gradients, errors and profiles."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from tests.emulator.compiled import PROGRAMS, compile_program

HERE = Path(__file__).parent
CASES = HERE / "cases"
IS_OLD = sys.version_info < (3, 9)
ALL = ["strategy", "sessions", "operations", "keras_models", "keras_more"]
ALL += ["estimators"] if IS_OLD else []  # newer TensorFlow has none
# Each Python runs all of them in `make verify`; tracing models takes seconds.
MODULES = ["keras_models"] if IS_OLD else ["strategy", "sessions", "operations"]
MORE = [name for name in ALL if name not in MODULES]


def cases_of(modules: List[str]) -> List[str]:
    """Return the names of the cases without importing TensorFlow."""
    found = []
    for name in modules:
        tree = ast.parse((CASES / f"{name}.py").read_text("utf-8"))
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        found += [f"{name}.{each}" for each in functions if each.startswith("case_")]
    return found


def outcomes_of(folder: Path, modules: List[str], *options: str) -> Dict[str, Optional[str]]:
    """Run the cases of modules in a process of their own."""
    result = folder / "outcomes.json"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "POPLAR_", "IPU"))}
    environment = {
        **kept,
        **{name: os.environ[name] for name in ("IPULSE_CACHE",) if name in os.environ},
        "CUSTOM_OPS": str(compile_program(PROGRAMS / "user_ops.cpp", shared=True)),
        "SCRATCH": str(folder),
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    command = [sys.executable, "-m", "ipu_tensorflow_emulator", "--tiles", "16", *options]
    done = subprocess.run(
        [*command, str(HERE / "run_cases.py"), str(result), *modules],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stderr.count("is emulated") == 1
    outcomes: Dict[str, Any] = json.loads(result.read_text("utf-8"))
    return outcomes


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Optional[str]]:
    return outcomes_of(tmp_path_factory.mktemp("scripts"), MODULES)


@pytest.mark.old_python
@pytest.mark.parametrize("case", cases_of(MODULES))
def test_case(outcomes: Dict[str, Optional[str]], case: str) -> None:
    assert outcomes[case] is None, outcomes[case]


@pytest.fixture(scope="module")
def more_outcomes(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, Optional[str]]:
    return outcomes_of(tmp_path_factory.mktemp("more"), MORE)


@pytest.mark.verify
@pytest.mark.old_python
@pytest.mark.parametrize("case", cases_of(MORE))
def test_another_case(more_outcomes: Dict[str, Optional[str]], case: str) -> None:
    assert more_outcomes[case] is None, more_outcomes[case]


@pytest.mark.verify
@pytest.mark.skipif(IS_OLD, reason="TensorFlow 2.6 has Keras 2 only")
def test_keras_3_does_the_same(tmp_path: Path) -> None:
    failed = {
        case: words
        for case, words in outcomes_of(tmp_path, ["keras_models"], "--keras", "3").items()
        if words
    }
    assert not failed, "\n".join(f"{case}: {words}" for case, words in failed.items())

"""Imports in a fresh interpreter, Python 3.8 syntax, and ARCHITECTURE.md."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

SERVICE_SIDE = {"alembic", "fastapi", "sqlalchemy", "starlette", "uvicorn"}
QUEUE = {"celery", "kombu", "redis"}
NUMBERS = {"keras", "numpy", "sklearn", "tensorflow"}
COMFORT = {"httpx", "rich", "typer", "yaml"}

# The models need a newer Python than Graphcore's TensorFlow.
MODELS = {"ipulse", "pydantic"}

CORE = [
    "errors",
    "events",
    "ids",
    "limits",
    "manifest",
    "messages",
    "poplar_environment",
    "spec.derived_values",
    "states",
    "strict_json",
]


def loaded_by(*modules: str) -> set[str]:
    """The top-level packages in memory after importing modules, which must print nothing."""
    program = f"import json, sys, {', '.join(modules)}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\n") == 1
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        (
            [f"ipulse_core.{name}" for name in CORE],
            SERVICE_SIDE | QUEUE | NUMBERS | COMFORT | MODELS,
        ),
        (["ipulse.client"], SERVICE_SIDE | QUEUE | NUMBERS | {"typer"}),
        (["ipulse.cli"], SERVICE_SIDE | QUEUE | NUMBERS),
        (
            ["ipulse_service.program", "ipulse_service.background.celery_queue"],
            NUMBERS | {"ipulse_ops", "ipulse_worker"},
        ),
        (
            ["ipulse_worker.agent.program"],
            SERVICE_SIDE | NUMBERS | {"ipulse_ops", "ipulse_service"},
        ),
        (
            ["ipulse_ops", "ipulse_ops.lif.reference.network_pass"],
            SERVICE_SIDE | QUEUE | MODELS | {"keras", "tensorflow"},
        ),
        (["ipulse_core.spec.resolved_spec"], SERVICE_SIDE | QUEUE | COMFORT | MODELS),
        (["ipulse_worker.runner.devices.pool"], SERVICE_SIDE | QUEUE | NUMBERS | MODELS),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_part_brings_only_what_it_is_for(modules: list[str], unwanted: set[str]) -> None:
    loaded = loaded_by(*modules)
    assert {module.partition(".")[0] for module in modules} <= loaded
    assert not loaded & unwanted


def test_the_core_is_the_standard_library(tmp_path: Path) -> None:
    """It is what a runner on another Python has, so `-I` and no site-packages must do."""
    names = ", ".join(f"ipulse_core.{name}" for name in CORE)
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'core')!r}); import {names}"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    "folder", ["core", "emulator", "ipu-tensorflow-emulator", "ops", "worker/ipulse_worker/runner"]
)
def test_what_runs_next_to_graphcores_tensorflow_is_python_3_8(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 8))


class TestArchitecturePage:
    """ARCHITECTURE.md names every folder that holds code, and no other."""

    PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    PACKAGES = ("core", "emulator", "ipu-tensorflow-emulator", "ipulse", "ops", "service", "worker")

    def named(self) -> set[str]:
        """Folders of the tree; an indented line belongs to the last line without indentation."""
        tree = re.search(r"## The tree\n\n```\n(.*?)```", self.PAGE, re.DOTALL)[1]
        folders, package = set(), ""
        for line in tree.splitlines():
            name = line.split()[0]
            if not line.startswith(" "):
                package = name
            path = name if name == package else f"{package}{name}"
            before, brace, rest = path.partition("{")
            inside, _, after = rest.partition("}")
            for part in inside.split(","):
                folders.add(f"{before}{part}{after}".rstrip("/") if brace else path.rstrip("/"))
        return folders

    def existing(self) -> set[str]:
        command = ["git", "ls-files", *self.PACKAGES]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        files = [path for path in map(Path, listed.stdout.split()) if (ROOT / path).exists()]
        folders = {
            str(path.parent) for path in files if len(path.parts) > 2 or path.parts[0] == "ipulse"
        }
        return {folder for folder in folders if "/include/" not in folder}

    def test_names_the_folders_that_exist(self) -> None:
        assert self.named() == self.existing()

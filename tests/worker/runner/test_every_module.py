from __future__ import annotations

import importlib
import pkgutil
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import ipulse_core
import ipulse_ops
import ipulse_worker.runner
import poplar_emulator

PACKAGES = [ipulse_core, ipulse_ops, poplar_emulator, ipulse_worker.runner]


@pytest.mark.old_python
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_module_is_one_of_this_python(package: ModuleType) -> None:
    for path in Path(package.__path__[0]).rglob("*.py"):
        compile(path.read_text("utf-8"), str(path), "exec")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):  # a program
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of TensorFlow 2.6
                importlib.import_module(module.name)

"""Turns the emulation on: an import hook for the names of Graphcore's TensorFlow."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Optional, Sequence

_PACKAGE = "ipu_tensorflow_emulator"
_PARTS = ("layers", "optimizers")
_KERAS = ("tensorflow.python.ipu.keras", "tensorflow.keras.ipu", "keras.ipu", "tf_keras.ipu")
# The modules that scripts import, and where ours are; those within others come first.
_PLACES = {
    **{f"{name}.{part}": f"{_PACKAGE}.addons.keras.{part}" for name in _KERAS for part in _PARTS},
    **dict.fromkeys(_KERAS, f"{_PACKAGE}.keras_ipu"),
    "tensorflow.python.ipu.horovod": f"{_PACKAGE}.ipu.distributed",
    "tensorflow.python.ipu": f"{_PACKAGE}.ipu",
    "tensorflow.compat.v1.python.ipu": f"{_PACKAGE}.ipu",
    "tensorflow.compiler.plugin.poplar": f"{_PACKAGE}.ipu",  # for its `ops`
    "tensorflow.compiler.plugin": _PACKAGE,
    # The package of TensorFlow 1.15 behind `tensorflow`.
    "tensorflow_core.python.ipu": f"{_PACKAGE}.ipu",
    "tensorflow_core._api.v1": "tensorflow._api.v2",
    "tensorflow_core": "tensorflow",
    "tensorflow._api.v1": "tensorflow._api.v2",
    "ipu_tensorflow_addons": f"{_PACKAGE}.addons",
    "popdist": f"{_PACKAGE}.popdist",
}
# Scripts that import `keras` mean the Keras of their TensorFlow, with the names of its time.
_LEGACY_KERAS = {
    "keras.optimizer_v2": "tf_keras.src.optimizers.legacy",
    "keras": "tf_keras",
    "tensorflow.python.keras.datasets": "tf_keras.datasets",
    "tensorflow.python.keras.preprocessing": "tf_keras.preprocessing",
}
_FIRST_LINE = (
    "tensorflow.python.ipu is emulated: custom ops run on emulated tiles, everything else on this "
    "computer's CPU; no time here is that of an IPU"
)


def say(words: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"ipu-tensorflow-emulator: {words}\n")


class _Loader(importlib.abc.Loader):
    """Loads one of our modules under the name that a script imports."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._place)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has replaced it


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Optional[Sequence[Any]] = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        places = _PLACES
        if any(_is_within(fullname, name) for name in _LEGACY_KERAS) and _uses_legacy_keras():
            places = {**_PLACES, **_LEGACY_KERAS}
        for name, place in places.items():
            if _is_within(fullname, name):
                ours = place + fullname[len(name) :]
                try:
                    spec = importlib.util.find_spec(ours)
                except ModuleNotFoundError:
                    spec = None
                if spec is None:
                    return None
                is_package = spec.submodule_search_locations is not None
                return importlib.machinery.ModuleSpec(
                    fullname, _Loader(ours), is_package=is_package
                )
        return None


def _is_within(fullname: str, name: str) -> bool:
    return fullname == name or fullname.startswith(f"{name}.")


_FINDER = _Finder()
_said = {"first line": False}


def is_enabled() -> bool:
    """Return whether the hook is installed."""
    return _FINDER in sys.meta_path


def enable() -> bool:
    """Install the hook; return False where the real modules are, which are used then."""
    if is_enabled():
        return True
    if _real_one_is_installed():
        say(
            "tensorflow.python.ipu of Graphcore's TensorFlow is installed here and is used; "
            "nothing is emulated. To emulate, use an environment with stock TensorFlow"
        )
        return False
    if "tensorflow" not in sys.modules and "keras" not in sys.modules and has_keras_2_apart():
        os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    sys.meta_path.insert(0, _FINDER)
    return True


def disable() -> None:
    """Remove the hook; modules that are imported already stay."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def announce() -> None:
    """Say once in a process that IPUs are emulated."""
    if not _said["first line"]:
        _said["first line"] = True
        say(_FIRST_LINE)


def has_announced() -> bool:
    """Return whether something was emulated in this process."""
    return _said["first line"]


def has_keras_2_apart() -> bool:
    """Return whether tf_keras is installed, from which newer TensorFlow takes Keras 2."""
    return importlib.util.find_spec("tf_keras") is not None


def _uses_legacy_keras() -> bool:
    return os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True") and has_keras_2_apart()


def _real_one_is_installed() -> bool:
    spec = importlib.util.find_spec("tensorflow")
    folders = [] if spec is None else spec.submodule_search_locations or []
    return any((Path(folder) / "python/ipu/__init__.py").exists() for folder in folders)

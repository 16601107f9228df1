"""Modules and names of the former release: each warns, and is what it was."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from ipulse_ops.deprecated import FORMER_MODULES, FORMER_NAMES

# What a user may have imported of modules that have moved; those with TensorFlow are left out.
MOVED = {
    "ipulse_ops.conv.geometry_attribute": "geometry_attribute",
    "ipulse_ops.conv.layer": "ConvLIF",
    "ipulse_ops.lif.cpu.constants": "LayerConstants",
}


@pytest.mark.old_python
@pytest.mark.parametrize("module", MOVED)
def test_a_former_module_is_imported_with_a_warning(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.deprecated_call(match=module):
        former = import_module(module)
    assert getattr(former, MOVED[module]) is getattr(
        import_module(FORMER_MODULES[module]), MOVED[module]
    )


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m in FORMER_NAMES for n in FORMER_NAMES[m]]
)
def test_a_name_that_has_moved_is_found_with_a_warning(module: str, name: str) -> None:
    with pytest.deprecated_call(match=name):
        moved = getattr(import_module(module), name)
    assert moved is getattr(import_module(FORMER_NAMES[module][name]), name)


def test_an_unknown_name_is_an_error() -> None:
    for module in FORMER_NAMES:
        with pytest.raises(AttributeError, match="nothing"):
            import_module(module).nothing  # noqa: B018  # the access is what fails
    with pytest.raises(ModuleNotFoundError):
        import_module("ipulse_ops.conv.nothing")

"""What is wrong with a package that is signed off is found, and named by a state."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, Tuple

import pytest

from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_ops.neuron_package.loading import installed_packages
from ipulse_ops.neuron_package.overview import PackageState, all_states
from tests.ops.neuron_package.wheels import MODULE, NAME, importable, install, source, wheel

_INFO = f"{NAME}-1.0.dist-info"
_OTHER = {f"{_INFO}/entry_points.txt": f"[ipulse.neurons]\nothers = {MODULE}:CoupledDendrites\n"}
_GONE = {f"{_INFO}/entry_points.txt": f"[ipulse.neurons]\n{NAME} = {MODULE}:Gone\n"}
_ZEROS = "0" * 64


def nothing(folder: Path) -> None:
    """Leave a folder as it is."""


def change(folder: Path) -> None:
    with (folder / MODULE / "__init__.py").open("a", encoding="utf-8") as module:
        module.write("\n")


def add(folder: Path) -> None:
    (folder / MODULE / "other.py").write_text("", "utf-8")


Case = Tuple[str, Dict[str, str], Callable[[Path], None]]
CASES: Dict[str, Case] = {
    "usable": (source(), {}, nothing),
    "other_digest": (source(), {}, change),
    "unfit": (source(), {}, add),
    "not_importable": ("import no_such_module\n", {}, nothing),
    "no_entry_point": (source(), _GONE, nothing),
}


def state_of(folder: Path, reference: str) -> PackageState:
    with importable(folder):
        found = {each.name: each for each in all_states({VARIABLE: reference})}
    return found[reference.partition("@")[0]]


@pytest.mark.parametrize("state", CASES)
def test_a_package_that_is_signed_off_has_a_state(tmp_path: Path, state: str) -> None:
    text, more, spoil = CASES[state]
    folder = install(wheel(tmp_path / "made", text, more), tmp_path / "installed")
    [before] = installed_packages([str(folder)])
    spoil(folder)
    found = state_of(folder, before.reference)
    assert (found.state, found.digest) == (state, before.digest)
    assert found.version == "coupled-dendrites 1.0"
    assert bool(found.detail) is (state != "usable")
    assert bool(found.parameters) is (state == "usable")


def test_a_package_that_is_not_there_has_a_state(tmp_path: Path) -> None:
    folder = install(wheel(tmp_path / "made", more=_OTHER), tmp_path / "installed")
    assert state_of(folder, f"nobody@sha256:{_ZEROS}").state == "not_installed"
    found = state_of(folder, f"{NAME}@sha256:{_ZEROS}")
    assert found.state == "no_entry_point"
    assert "coupled-dendrites 1.0" in found.detail


def test_a_package_that_is_only_installed_is_not_imported(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w').close()\n"
    folder = install(wheel(tmp_path / "made", text), tmp_path / "installed")
    with importable(folder):
        [found] = [each for each in all_states({}) if each.name == NAME]
    assert (found.state, found.digest) == ("not_signed_off", found.installed_digest)
    assert not mark.exists()

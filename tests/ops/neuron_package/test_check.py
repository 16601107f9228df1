"""The check of a package finds wrong gradients and broken promises, and passes the example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from ipulse_ops.neuron_package.check.__main__ import main
from tests.ops.neuron_package.wheels import NAME, importable, install, source, wheel


def check(tmp_path: Path, capsys: Any, text: str) -> Tuple[int, Dict[str, Any]]:
    folder = install(wheel(tmp_path / "made", text), tmp_path / "installed")
    with importable(folder):
        code = main([NAME, "--json"])
    found: Dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def failed(found: Dict[str, Any]) -> List[str]:
    checks = (finding["check"] for finding in found["findings"] if finding["problems"])
    return list(dict.fromkeys(checks))


@pytest.mark.old_python
def test_the_example_is_fit(tmp_path: Path, capsys: Any) -> None:
    folder = install(wheel(tmp_path / "made"), tmp_path / "installed")
    with importable(folder):
        assert main([NAME]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert main([NAME, "--digest"]) == 0
        (reference,) = capsys.readouterr().out.splitlines()
        assert main(["other"]) == 2
    assert shown[-1] == f"IPULSE_NEURON_PACKAGES={reference}"


ADJOINT = "adjoint against differences"
KERNEL = "kernel against reference"
BITS = "equal bits"
_BACKWARD = "return _adjoint(parameters, spikes, saved, by_spikes)"
_FORWARD = "        return _run(currents, parameters)\n"
MUTANTS = {
    "decay's gradient is of the new state": ("(by_d * former)", "(by_d * d)", ADJOINT),
    "the coupling is not passed back": (
        '_from_neighbours(parameters["coupling"] * by_d)',
        '_from_neighbours(parameters["coupling"] * former)',
        ADJOINT,
    ),
    "the reset is not passed back": (
        "by_u = KEPT * (1 - spikes[t]) * by_u",
        "by_u = KEPT * by_u",
        ADJOINT,
    ),
    "another slope": (
        "(1 + SLOPE * np.abs(u - THRESHOLD)) ** 2",
        "(1 + SLOPE * np.abs(u - THRESHOLD))",
        ADJOINT,
    ),
    "half of the kernel's gradient": (
        _BACKWARD,
        "found = _adjoint(parameters, spikes, saved, by_spikes)\n"
        "        return np.float32(0.5) * found[0], found[1]",
        KERNEL,
    ),
    "a kernel with another threshold": (
        _FORWARD,
        "        return _run(currents * np.float32(0.9), parameters)\n",
        KERNEL,
    ),
    "noise": (
        _FORWARD,
        "        spikes, states = _run(currents, parameters)\n"
        "        return spikes, states + np.random.rand(*states.shape).astype(np.float32) * 1e-7\n",
        BITS,
    ),
    "the batch's mean": (
        _FORWARD,
        "        mean = np.float32(1e-4) * currents.mean(axis=1, keepdims=True)\n"
        "        return _run(currents + mean, parameters)\n",
        BITS,
    ),
    "a look ahead": (
        _FORWARD,
        "        return _run(currents + np.float32(0.1) * currents[-1:], parameters)\n",
        BITS,
    ),
    "NaN is taken": (
        '        raise ValueError("currents',
        '        return\n        raise ValueError("currents',
        "refusals",
    ),
    "doubles": (_FORWARD, "        return _run(currents.astype(float), parameters)\n", "results"),
    "a smooth function of other spikes": (
        "return 0.5 + above",
        "return 0.5 - above",
        "results",
    ),
    "it changes its argument": (
        _FORWARD,
        "        currents *= 2\n        return _run(currents, parameters)\n",
        "results",
    ),
}


@pytest.mark.parametrize("change", MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_package_is_found(
    tmp_path: Path, capsys: Any, change: Tuple[str, str, str]
) -> None:
    old, new, expected = change
    assert source().count(old) == 1
    code, found = check(tmp_path, capsys, source().replace(old, new))
    assert code == 1
    assert expected in failed(found), failed(found)
    assert not found["fine"]


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, capsys: Any) -> None:
    folder = install(wheel(tmp_path / "made", "import no_such_module\n"), tmp_path / "installed")
    with importable(folder):
        assert main([NAME]) == 2
    assert "no_such_module" in capsys.readouterr().err


def test_neurons_that_never_spike_are_found(tmp_path: Path, capsys: Any) -> None:
    text = source().replace(
        "KEPT, THRESHOLD, SLOPE = 0.75, 0.5", "KEPT, THRESHOLD, SLOPE = 0.75, 1e9"
    )
    code, found = check(tmp_path, capsys, text)
    assert code == 1
    assert failed(found) == ["some spikes"]

"""Files of others: what their program leaves out is known, asked for, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional, get_args

import h5py
import nir
import numpy as np
import pytest

from ipulse_core.nir.discretization import Options
from ipulse_core.nir.errors import NirAmbiguous, NirInvalid
from ipulse_core.nir.importer import ImportedNetwork, import_network
from ipulse_core.spec.nir_writers import BY_FILE, RESETS, SOLVERS, WRITERS, WriterName
from tests.worker.runner.nir.test_import import CHAIN, chain, graph_of, li, lif, linear, ones, plain


def written(
    folder: Path, nodes: Dict[str, Any], version: str = "1.0.8", v_reset: bool = True
) -> Path:
    path = folder / "theirs.nir"
    nir.write(str(path), graph_of(nodes, chain(*CHAIN)))
    with h5py.File(str(path), "a") as file:
        file.pop("version", None)
        if version:
            file["version"] = version
        for node in file["node/nodes"].values():
            has_reset = node["type"][()] in (b"LIF", b"CubaLIF")
            node.pop("v_reset", None)
            if v_reset and has_reset:
                node["v_reset"] = np.zeros(node["v_threshold"].shape)
    return path


def cuba(neurons: int, **fields: Any) -> nir.CubaLIF:
    given = {"tau_mem": 0.02 * ones(neurons), "tau_syn": 0.01 * ones(neurons)}
    given.update({"r": ones(neurons), "v_leak": 0 * ones(neurons), "v_threshold": ones(neurons)})
    return nir.CubaLIF(**{**given, "w_in": ones(neurons), **fields})


def snntorch(beta: float, neurons: int) -> nir.LIF:
    tau = 1e-4 / (1 - beta) * ones(neurons)
    found = lif(neurons, tau=tau, r=tau / 1e-4)
    assert found is not None
    return found


def layer(found: ImportedNetwork) -> Dict[str, Any]:
    first: Dict[str, Any] = found.network["layers"][0]
    return first


@pytest.mark.old_python
def test_a_choice_is_asked_for_only_where_it_changes_spikes(tmp_path: Path) -> None:
    """Only Sinabs's LIF knows norm_input; a threshold alone has no time constants."""
    slow = {"n1": lif(4, tau=20 * ones(4)), "n2": lif(2, tau=20 * ones(2))}
    path = written(tmp_path, plain(**slow))
    with pytest.raises(NirAmbiguous) as raised:
        import_network(path, Options(writer="sinabs"))
    assert [words["solver"] for words, _ in raised.value.choices] == ["exact", "unscaled"]
    both = [import_network(path, Options(writer="sinabs", solver=s)) for s in ("exact", "unscaled")]
    assert layer(both[1])["gain"] / layer(both[0])["gain"] == pytest.approx(1 / (1 - np.exp(-0.05)))
    fires = nir.IF(r=ones(4), v_threshold=ones(4))
    assert layer(import_network(written(tmp_path, plain(n1=fires)), Options(writer="sinabs")))[
        "gain"
    ] == pytest.approx(1.0)
    step = nir.Threshold(threshold=ones(4))
    ends = nir.Threshold(threshold=ones(2))
    found = import_network(written(tmp_path, plain(n1=step, n2=ends)), Options())
    assert layer(found)["decay"] == 0.0


@pytest.mark.parametrize(
    ("version", "v_reset", "reset"),
    [
        ("0.2.0", False, "subtract"),
        ("1.0.4", False, "subtract"),
        ("1.0.5", False, "zero"),
        ("0.2.0", True, "zero"),
        ("", False, None),
    ],
)
def test_a_missing_reset_follows_the_release(
    tmp_path: Path, version: str, v_reset: bool, reset: Optional[str]
) -> None:
    path = written(tmp_path, plain(), version, v_reset)
    options = Options(writer="nir", solver="exact", step_s=0.001)
    if reset is None:
        with pytest.raises(NirAmbiguous) as raised:
            import_network(path, options)
        assert [words["reset"] for words, _ in raised.value.choices] == ["subtract", "zero"]
    else:
        assert import_network(path, options).network["reset"] == reset


def test_norse_adds_to_synapses_and_writes_times_in_steps(tmp_path: Path) -> None:
    path = written(tmp_path, plain(n1=cuba(4, tau_mem=1e-5 * ones(4), tau_syn=5e-6 * ones(4))))
    found = import_network(path, Options(writer="norse", step_s=0.001, reset="zero"))
    assert found.step_ms == 1.0
    assert (layer(found)["decay"], layer(found)["synapse_decay"]) == (0.9, 0.8)
    assert layer(found)["gain"] * (1 - 0.8) == pytest.approx(1.0)


def test_a_later_reset_is_a_current_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path, plain(n1=snntorch(0.9, 4), n2=snntorch(0.8, 2)))
    with pytest.raises(NirAmbiguous) as raised:
        import_network(path, Options(writer="snntorch"))
    assert len(raised.value.choices) == len(WRITERS["snntorch"].resets)
    found = import_network(path, Options(writer="snntorch", reset="later-subtract"))
    assert found.network["reset"] == "none"
    loop = found.weights["layer_1_recurrent"] * layer(found)["gain"] * (1 - layer(found)["decay"])
    np.testing.assert_allclose(loop, -np.eye(4), rtol=1e-6)
    tau = 1e-4 / 0.2 * ones(4)
    synapse = cuba(4, tau_mem=tau, tau_syn=tau, r=tau / 1e-4, w_in=tau / 1e-4)
    path = written(tmp_path, plain(n1=synapse, n2=snntorch(0.8, 2)))
    with pytest.raises(NirInvalid, match=r"'n1'.*behind the synapse.*reset_delay=False"):
        import_network(path, Options(writer="snntorch", reset="later-subtract"))


@pytest.mark.parametrize("writer", ["norse", "snntorch", "sinabs"])
def test_a_file_of_another_program_is_refused(tmp_path: Path, writer: str) -> None:
    path = written(tmp_path, plain(n1=lif(4, r=3 * ones(4)), n2=li(2)))
    with pytest.raises(NirInvalid, match=f"'n[12]'.*not of {WRITERS[writer].program}"):
        import_network(path, Options(writer=writer, step_s=0.001))


def test_a_file_of_ipulse_needs_no_options(tmp_path: Path) -> None:
    path = written(tmp_path, plain(w1=linear(3, 4)), v_reset=False)
    with h5py.File(str(path), "a") as file:
        group = file["node"].require_group("metadata")
        group["dt"], group["discretization"] = 0.002, "decay = exp(-dt / tau)"
    assert import_network(path, Options()).step_ms == 2.0


def test_the_names_of_options_are_those_of_the_table() -> None:
    assert get_args(WriterName) == tuple(WRITERS)
    for writer in WRITERS.values():
        assert {*writer.solvers} <= {*SOLVERS}
        assert {*writer.resets} <= {*RESETS, BY_FILE}

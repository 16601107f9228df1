"""NIR files that are wrong, huge or hostile."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Tuple

import h5py
import nir
import numpy as np
import pytest

from ipulse_core.nir.discretization import Options
from ipulse_core.nir.errors import NirAmbiguous, NirInvalid
from ipulse_core.nir.importer import import_network
from tests.worker.runner.nir.test_import import (
    CHAIN,
    SKIP,
    Edges,
    chain,
    graph_of,
    imported,
    li,
    lif,
    linear,
    ones,
    plain,
    source,
)

GIVEN = Options(writer="nir", solver="exact", step_s=0.001, reset="zero")
WRONG: Dict[str, Tuple[Dict[str, Any], Edges, str]] = {
    "shapes": (plain(w2=linear(5, 2)), chain(*CHAIN), "'w2'.*2 x 5"),
    "constants": (plain(n1=lif(7)), chain(*CHAIN), "'n1'.*7 values for 4 neurons"),
    "nan": (plain(w1=nir.Linear(weight=np.full((4, 3), np.nan))), chain(*CHAIN), "'w1'.*finite"),
    "tau": (plain(n1=lif(4, tau=0 * ones(4))), chain(*CHAIN), "'n1'.*tau must be above 0"),
    "reset": (plain(n1=lif(4, v_reset=0.5 * ones(4))), chain(*CHAIN), "'n1'.*v_reset"),
    "threshold": (plain(n1=lif(4, v_threshold=-ones(4))), chain(*CHAIN), "'n1'.*above 0"),
    "a tau that never ends": (plain(n1=lif(4, tau=1e30 * ones(4))), chain(*CHAIN), "use an IF"),
    "membrane": (plain(n1=li(4)), chain(*CHAIN), "'n1'.*passes its membrane on"),
    "one layer": (plain(), chain("input", "w1", "n1", "output"), "'n|w2"),
    "no way": (plain(), chain("input", "w1", "n1", "w2", "n2"), "'n2'|'output'|between input"),
    "loop of weights": (
        plain(a=linear(4, 4), b=linear(4, 4)),
        [*chain(*CHAIN), ("n1", "a"), ("a", "b"), ("b", "a"), ("b", "n1")],
        "cannot be scheduled",
    ),
    "loop of layers": (
        plain(n3=lif(4), back=linear(4, 4)),
        [*chain("input", "w1", "n1", "n3", "w2", "n2", "output"), *chain("n3", "back", "n1")],
        "'n3'.*a loop leads back to n1",
    ),
    "skip of the input with a delay": (
        plain(w3=linear(3, 2), wait=nir.Delay(delay=0.001 * ones(3))),
        [*chain(*CHAIN), *chain("input", "wait", "w3", "n2")],
        "'input'.*delay",
    ),
    "skip beside a delay": (
        plain(w3=linear(3, 2), wait=nir.Delay(delay=0.001 * ones(4))),
        [*chain("input", "w1", "n1", "wait", "w2", "n2", "output"), *chain("input", "w3", "n2")],
        "one of the two",
    ),
    "skip of another shape": (
        plain(w3=linear(3, 5)),
        [*chain(*CHAIN), *chain("input", "w3", "n2")],
        "'n2'.*differ in shape",
    ),
    "skip of another delay": (
        plain(across=linear(4, 4), n3=lif(4), wait=nir.Delay(delay=0.001 * ones(4))),
        [*chain(*SKIP), *chain("n1", "wait", "w2")],
        "'n2'.*different delays",
    ),
    "two delays of a connection": (
        plain(late=linear(3, 4), wait=nir.Delay(delay=0.001 * ones(3))),
        [*chain(*CHAIN), *chain("input", "wait", "late", "n1")],
        "'n1'.*twice, with different delays",
    ),
    "delays of sums": (
        plain(w3=linear(4, 4), wait=nir.Delay(delay=0.001 * np.arange(4))),
        chain("input", "w1", "wait", "w3", "n1", "w2", "n2", "output"),
        "'w3'.*different times",
    ),
    "delays of biases": (
        plain(
            w1=nir.Affine(weight=np.ones((4, 3)), bias=ones(4)),
            wait=nir.Delay(delay=0.001 * np.arange(4)),
        ),
        chain("input", "w1", "wait", "n1", "w2", "n2", "output"),
        "'wait'.*bias",
    ),
    "delays of other values": (
        plain(wait=nir.Delay(delay=0.001 * np.arange(5))),
        chain("input", "w1", "n1", "wait", "w2", "n2", "output"),
        "'wait'.*5 values",
    ),
    "negative delays": (
        plain(wait=nir.Delay(delay=-0.001 * np.arange(4))),
        chain("input", "w1", "n1", "wait", "w2", "n2", "output"),
        "'wait'.*0 or above",
    ),
    "endless delays": (
        plain(wait=nir.Delay(delay=np.array([1.0, 2, 3, 1e300]))),
        chain("input", "w1", "n1", "wait", "w2", "n2", "output"),
        "'n2'.*at most 10,000",
    ),
    "delays beside added spikes": (
        plain(across=linear(4, 4), n3=lif(4), wait=nir.Delay(delay=0.001 * np.arange(3))),
        [*chain("input", "wait", *SKIP[1:]), ("n1", "w2")],
        "one of the two",
    ),
    "half a step": (
        plain(wait=nir.Delay(delay=0.0005 * ones(4))),
        chain("input", "w1", "n1", "wait", "w2", "n2", "output"),
        "whole number of steps",
    ),
    "empty": (
        {
            **plain(n1=lif(1)),
            "input": source(1, 2, 2),
            "w1": nir.Conv2d(
                input_shape=(2, 2),
                weight=np.ones((1, 1, 3, 3)),
                stride=1,
                padding=0,
                dilation=1,
                groups=1,
                bias=np.zeros(1),
            ),
        },
        chain(*CHAIN),
        "'w1'.*output is empty",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_imported_is_named(name: str, tmp_path: Path) -> None:
    nodes, edges, message = WRONG[name]
    with pytest.raises(NirInvalid, match=message):
        imported(tmp_path, nodes, edges)


class TestHostileFiles:
    """Nothing outside the file is read, and nothing large is allocated."""

    def changed(self, folder: Path) -> Any:
        path = folder / "theirs.nir"
        nir.write(str(path), graph_of(plain(), chain(*CHAIN)))
        return h5py.File(str(path), "a")

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("groups", [1, 1], "groups must be one whole number"),
            ("padding", [2**40], "padding must be whole numbers"),
            ("stride", [1, 2, 3], "stride must be whole numbers"),
        ],
    )
    def test_a_convolution_with_other_settings(
        self, field: str, value: List[int], message: str, tmp_path: Path
    ) -> None:
        with self.changed(tmp_path) as file:
            node = file["node/nodes/w1"]
            for name in list(node):
                del node[name]
            node["type"] = "Conv1d"
            node["weight"], node["bias"] = np.ones((4, 3, 1)), np.zeros(4)
            whole = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
            for name, number in {**whole, field: value}.items():
                node[name] = np.array(number)
            del file["node/nodes/input/shape"]
            file["node/nodes/input/shape"] = np.array([3, 1])
        self.refused(tmp_path, f"'w1'.*{message}")

    def test_a_layer_without_neurons(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/w1/weight"]
            file["node/nodes/w1/weight"] = np.ones((0, 3))
        self.refused(tmp_path, "'n1'.*no neurons")

    def test_an_empty_time_step_is_none(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            file["node"].require_group("metadata")["dt"] = np.ones(0)
        with pytest.raises(NirAmbiguous) as raised:
            import_network(tmp_path / "theirs.nir", Options(writer="nir", solver="exact"))
        [(words, _)] = raised.value.choices
        assert words["step_ms"] == "1"

    def refused(self, folder: Path, message: str) -> None:
        with pytest.raises(NirInvalid, match=message):
            import_network(folder / "theirs.nir", GIVEN)

    def test_an_unknown_node(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/n1/type"]
            file["node/nodes/n1/type"] = "Hodgkin"
        self.refused(tmp_path, "'n1'.*'Hodgkin' is unknown; known are .*CubaLIF")

    @pytest.mark.old_python
    def test_links_out_of_the_file(self, tmp_path: Path) -> None:
        for link in (h5py.ExternalLink("other.h5", "/w"), h5py.SoftLink("/node/nodes/w2/weight")):
            with self.changed(tmp_path) as file:
                del file["node/nodes/w1/weight"]
                file["node/nodes/w1/weight"] = link
            self.refused(tmp_path, "w1.*'weight' is a link")

    @pytest.mark.old_python
    def test_numbers_stored_in_another_file(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/w1/weight"]
            file.create_dataset(
                "node/nodes/w1/weight", (4, 3), "f4", external=[("secret", 0, h5py.h5f.UNLIMITED)]
            )
        self.refused(tmp_path, "w1.*another file")

    @pytest.mark.old_python
    def test_numbers_that_are_packed_with_an_odd_filter(self, tmp_path: Path) -> None:
        for options in ({"scaleoffset": 2}, {"compression": "lzf"}):
            with self.changed(tmp_path) as file:
                del file["node/nodes/w1/weight"]
                data = np.ones((4, 3), np.float32)
                file.create_dataset("node/nodes/w1/weight", data=data, **options)
            self.refused(tmp_path, "w1.*'weight' is packed")

    def test_numbers_that_are_packed_with_gzip(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            weight = file["node/nodes/w1/weight"][()]
            del file["node/nodes/w1/weight"]
            how = {"compression": "gzip", "shuffle": True, "fletcher32": True}
            file.create_dataset("node/nodes/w1/weight", data=weight, **how)
        found = import_network(tmp_path / "theirs.nir", GIVEN)
        np.testing.assert_array_equal(found.weights["layer_1"], weight.T)

    def test_a_billion_parameters_in_a_small_file(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/nodes/w1/weight"]
            file.create_dataset("node/nodes/w1/weight", (10**6, 10**3), "f4", chunks=(1000, 1000))
        assert (tmp_path / "theirs.nir").stat().st_size < 10**6
        self.refused(tmp_path, "'w1'.*more than 134,217,728 numbers")

    def test_a_graph_in_itself(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            file["node/nodes/again"] = file["node"]
        self.refused(tmp_path, "nested more than|more than 1,000 nodes")

    def test_an_edge_to_nowhere(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/edges"]
            file["node/edges"] = [["input", "w1"], ["w1", "gone"]]
        self.refused(tmp_path, "'gone', which is no node")

    def test_many_edges(self, tmp_path: Path) -> None:
        with self.changed(tmp_path) as file:
            del file["node/edges"]
            file["node/edges"] = [["input", "w1"]] * 20_000
        self.refused(tmp_path, "10,000 pairs")

    @pytest.mark.old_python
    @pytest.mark.parametrize("content", [b"", b"not HDF5", b"\x89HDF\r\n\x1a\n" + bytes(200)])
    def test_a_damaged_file(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "theirs.nir").write_bytes(content)
        self.refused(tmp_path, "cannot be read as a NIR file")

    def test_a_truncated_file(self, tmp_path: Path) -> None:
        self.changed(tmp_path).close()
        path = tmp_path / "theirs.nir"
        whole = path.read_bytes()
        for length in range(0, len(whole), len(whole) // 25):
            path.write_bytes(whole[:length])
            self.refused(tmp_path, ".")

"""The nodes of network files, as the API lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess


def address(service: InProcess, name: str, content: bytes) -> str:
    """Stores a file of a new job; returns where its nodes are listed."""
    job_id = service.submit()["id"]
    attempt = service.attempt(job_id)
    attempt.put(name, "network", content)
    [file] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
    return f"/v1/jobs/{job_id}/artifacts/{file['id']}/network"


def write(path: Path, nodes: dict[str, tuple[str, dict[str, Any]]], edges: list[Any]) -> None:
    with h5py.File(path, "w") as file:
        file["node/type"] = "NIRGraph"
        file["node/edges"] = np.array(edges, dtype=h5py.string_dtype()).reshape(-1, 2)
        for name, (kind, values) in nodes.items():
            file[f"node/nodes/{name}/type"] = kind
            for key, value in values.items():
                file[f"node/nodes/{name}/{key}"] = value


def test_nodes_have_their_values_and_ranges(service: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "network.nir"
    tau = np.array([0.5, np.inf, 2.0])
    nodes = {
        "a": ("Input", {"shape": np.array([3])}),
        "b": ("LI", {"tau": tau, "r": 4.0, "note": "text"}),
    }
    write(path, nodes, [("a", "b")])
    graph = service.user.get(address(service, "network.nir", path.read_bytes())).json()
    assert graph["edges"] == [["a", "b"]]
    by_name = {node["name"]: node for node in graph["nodes"]}
    assert {name: node["type"] for name, node in by_name.items()} == {"a": "Input", "b": "LI"}
    values = {one["name"]: one for one in by_name["b"]["parameters"]}
    assert (values["tau"]["low"], values["tau"]["high"]) == (0.5, "inf")
    assert values["tau"]["shape"] == [3]
    assert (values["r"]["value"], values["note"]["value"]) == (4.0, "text")


def test_what_cannot_be_shown_is_refused_with_the_reason(
    service: InProcess, tmp_path: Path
) -> None:
    path = tmp_path / "network.nir"
    write(path, {}, [])
    whole = path.read_bytes()
    (tmp_path / "secret").write_bytes(b"\1\2\3\4")
    with h5py.File(path, "a") as file:
        group = file.create_group("node/nodes/a")
        group["type"] = "LI"
        shape, part = (4,), [(str(tmp_path / "secret"), 0, 4)]
        group.create_dataset("tau", shape, "u1", external=part)
    elsewhere = path.read_bytes()
    path.unlink()
    with h5py.File(path, "w") as file:
        file["node"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/node")
    for content, name, word in (
        (b"no HDF5", "network.nir", "cannot be read"),
        (whole[: len(whole) // 2], "network.nir", "cannot be read"),
        (elsewhere, "network.nir", "another file"),
        (path.read_bytes(), "network.nir", "link"),
        (whole, "weights.npz", "not a NIR file"),
    ):
        answer = service.user.get(address(service, name, content))
        problem = check_problem(answer, 422)
        assert problem["code"] == "unreadable_network"
        assert word in str(problem["errors"]), word
        assert str(service.settings.artifacts_dir) not in answer.text

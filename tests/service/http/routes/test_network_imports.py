"""Networks of other simulators that users import from NIR files."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import h5py
import httpx
import nir
import numpy as np
import pytest
from sqlalchemy import func, select

from ipulse.spec import parse_spec
from ipulse_core.nir.discretization import Options
from ipulse_core.nir.importer import import_network
from ipulse_core.registry.versions import lower
from ipulse_core.spec.nir_writers import WRITERS
from ipulse_service.db import tables
from ipulse_service.http.routes.data import network_imports
from ipulse_service.reading.isolation import Isolation
from tests.service.datasets.uploading import check_refused
from tests.service.http.routes.test_starting import file_of
from tests.service.http.routes.test_submission import check_problem
from tests.service.people import checked, person
from tests.service.running import InProcess
from tests.worker.runner.nir.test_import import CHAIN, chain, graph_of, lif, ones, plain

EULER = {"writer": "nir", "solver": "euler", "step_ms": "1"}
FILE = {"content-type": "application/octet-stream"}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.nir"
    nir.write(path, graph_of(plain(), chain(*CHAIN)))
    return path


def post(service: InProcess, content: bytes, **query: str) -> httpx.Response:
    return sent(service.user, content, **query)


def sent(client: httpx.Client, content: bytes, **query: str) -> httpx.Response:
    return client.post("/v1/networks:import", content=content, params=query, headers=FILE)


@contextmanager
def changed(path: Path) -> Iterator[Any]:
    with h5py.File(path, "a") as file:
        yield file["node"]


def test_the_spec_and_the_weights_reach_the_runner(service: InProcess, theirs: Path) -> None:
    answer = post(service, theirs.read_bytes(), name="their net.v2", **EULER)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["spec"]["version"], found["spec"]["name"]) == (2, "their-net.v2")
    expected = import_network(theirs, Options(writer="nir", solver="euler", step_s=0.001))
    network = lower(found["spec"])["network"]
    assert network.pop("initial") == {"upload": found["weights"]["sha256"]}
    assert network == json.loads(json.dumps(expected.network))
    assert found["arrays"] == {"layer_1": [3, 4], "readout": [4, 2]}
    job = service.submit(found["spec"])
    attempt = service.attempt(job["id"])
    start = attempt.claim["start_from"]
    assert (start["mode"], start["sha256"]) == ("weights", found["weights"]["sha256"])
    kept = file_of(attempt)
    assert hashlib.sha256(kept).hexdigest() == found["weights"]["sha256"]
    assert len(kept) == found["weights"]["size"]
    with np.load(io.BytesIO(kept), allow_pickle=False) as arrays:
        for name, array in expected.weights.items():
            np.testing.assert_array_equal(arrays[name], array)
    attempt.finish("diverged")


def test_notes_say_what_was_assumed(service: InProcess, theirs: Path) -> None:
    nodes = plain(n1=lif(4, v_leak=0.25 * ones(4)))
    nir.write(theirs, graph_of(nodes, chain(*CHAIN)))
    found = post(service, theirs.read_bytes(), **EULER, reset="zero").json()
    assert any("n1" in note for note in found["notes"])
    parse_spec(found["spec"])


def test_an_ambiguous_file_answers_the_choices(service: InProcess, tmp_path: Path) -> None:
    path = tmp_path / "theirs.nir"
    nir.write(path, graph_of(plain(n1=lif(4, tau=20.0 * ones(4))), chain(*CHAIN)))
    content = path.read_bytes()
    problem = check_problem(post(service, content), 422)
    assert problem["code"] == "nir_ambiguous"
    assert [each["pointer"] for each in problem["errors"]] == ["/body"]
    writers = [each["options"]["writer"] for each in problem["choices"]]
    assert {"norse", "sinabs"} <= {*writers} <= {*WRITERS}
    assert all(each["meaning"] for each in problem["choices"])
    # Each choice leads to a network, perhaps through another question.
    asked, networks = [each["options"] for each in problem["choices"]], []
    while asked:
        answer = post(service, content, **asked.pop())
        if answer.status_code == 200:
            networks.append(answer.json())
            continue
        problem = check_problem(answer, 422)
        assert problem["code"] == "nir_ambiguous", problem
        asked += [each["options"] for each in problem["choices"]]
    assert len(networks) > 2
    assert len({json.dumps(each["spec"]) for each in networks}) > 1


def hostile(path: Path) -> dict[str, tuple[bytes, str]]:
    """Files with a text of what is wrong with them."""
    files: dict[str, tuple[bytes, str]] = {
        "not HDF5": (b"no HDF5", "cannot be read"),
        "nothing": (b"", "cannot be read"),
        "half": (path.read_bytes()[:900], "."),
    }
    whole = path.read_bytes()

    def add(name: str, words: str) -> None:
        files[name] = (path.read_bytes(), words)
        path.write_bytes(whole)

    with changed(path) as node:
        del node["nodes/w1/weight"]
        node.create_dataset("nodes/w1/weight", (10**6, 10**3), "f4", chunks=(1000, 1000))
    add("a billion weights", "'w1'")
    with changed(path) as node:
        node["nodes/again"] = node
    add("a graph in itself", "nested|1,000 nodes")
    with changed(path) as node:
        part = node["nodes"]
        for number in range(200):
            part = part.create_group(f"deep{number}")
            part["type"] = "NIRGraph"
            part = part.create_group("nodes")
    add("deep groups", "nested|edges")
    with changed(path) as node:
        del node["nodes/w1/weight"]
        node["nodes/w1/weight"] = h5py.ExternalLink("/etc/hostname", "/w")
    add("a link", "'weight' is a link")
    with changed(path) as node:
        del node["nodes/w1/weight"]
        where = [(str(path.parent / "secret"), 0, 48)]
        node.create_dataset("nodes/w1/weight", (4, 3), "f4", external=where)
    add("another file", "another file")
    with changed(path) as node:
        del node["nodes/w1/weight"]
        node.create_dataset("nodes/w1/weight", data=np.ones((4, 3), "f4"), scaleoffset=2)
    add("an odd filter", "packed")
    with changed(path) as node:
        del node["nodes/n1/tau"]
        node["nodes/n1/tau"] = np.array([1.0, np.nan, 1, 1])
    add("not finite", "'n1'")
    with changed(path) as node:
        node["nodes"].create_group(b"\xff\xfe<script>")["type"] = "Odd"
    add("a name that is no text", "'Odd' is unknown|utf|UTF")
    with changed(path) as node:
        del node["nodes/n1/type"]
        node["nodes/n1/type"] = "Hodgkin"
    add("an unknown node", "'n1'.*Hodgkin")
    return files


def upload_count(service: InProcess) -> int:
    with service.database.read() as transaction:
        query = select(func.count()).select_from(tables.uploads)
        return int(transaction.connection.execute(query).scalar_one())


def test_hostile_files_are_refused_with_the_reason(service: InProcess, theirs: Path) -> None:
    (theirs.parent / "secret").write_bytes(bytes(48))
    before = upload_count(service)
    for name, (content, words) in hostile(theirs).items():
        answer = post(service, content, **EULER)
        problem = check_problem(answer, 422)
        assert (problem["code"], name) == ("nir_invalid", name)
        [error] = problem["errors"]
        assert error["pointer"] == "/body"
        assert re.search(words, error["detail"]), (name, error)
        assert str(service.settings.home) not in answer.text, name
        assert str(theirs.parent) not in answer.text, name
    assert upload_count(service) == before
    assert [*(service.settings.artifacts_dir / "checks").iterdir()] == []


def test_weights_that_grow_beyond_the_limit_are_refused(service: InProcess, tmp_path: Path) -> None:
    """A convolution with shared weights in a small file is a dense matrix of 600 MB."""
    ones_ = np.ones((3, 110, 110), np.float32)
    constants = {"tau": 0.02 * ones_, "r": ones_, "v_leak": 0 * ones_, "v_threshold": ones_}
    constants["v_threshold"][0, 0, 0] = 2  # neurons that differ: no convolution of a spec
    nodes = {
        "input": nir.Input(input_type={"input": np.array([1, 64, 64])}),
        "conv": nir.Conv2d((64, 64), np.ones((3, 1, 3, 3), np.float32), 1, 24, 1, 1, np.zeros(3)),
        "spikes": nir.LIF(**constants),
        "flat": nir.Flatten({"input": np.array([3, 110, 110])}, 0, -1),
        "w": nir.Linear(weight=np.ones((2, 36_300), np.float32)),
        "n": nir.LI(tau=ones(2), r=ones(2), v_leak=0 * ones(2)),
        "output": nir.Output(output_type={"output": np.array([2])}),
    }
    path = tmp_path / "large.nir"
    nir.write(path, graph_of(nodes, chain(*nodes)))
    problem = check_problem(
        service.user.post(
            "/v1/networks:import",
            content=path.read_bytes(),
            params=EULER,
            headers=FILE,
            timeout=120,
        ),
        422,
    )
    assert problem["code"] == "nir_invalid"


def test_a_network_that_is_no_valid_spec_names_the_places(service: InProcess, theirs: Path) -> None:
    extra = {f"n{number}": lif(4) for number in range(10, 30)}
    nodes = {**plain(), **extra}
    names = ["input", "w1", "n1", *extra, "w2", "n2", "output"]
    nir.write(theirs, graph_of(nodes, chain(*names)))
    check_refused(
        post(service, theirs.read_bytes(), **EULER), 422, "invalid_spec", "/network/layers"
    )


def test_a_file_over_the_limit_is_refused(
    service: InProcess, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = theirs.read_bytes()
    monkeypatch.setattr(network_imports, "MAX_NIR_BYTES", len(content) - 1)
    check_refused(post(service, content, **EULER), 413, "too_large")
    chunks = iter([content[:100], content[100:]])  # without a length
    answer = service.user.post("/v1/networks:import", content=chunks, params=EULER, headers=FILE)
    check_refused(answer, 413, "too_large")
    monkeypatch.setattr(network_imports, "MAX_NIR_BYTES", len(content))
    assert post(service, content, **EULER).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("writer", "brian"), ("solver", "none"), ("step_ms", "0"), ("step_ms", "nan"), ("odd", "1")],
)
def test_a_wrong_option_is_refused(service: InProcess, theirs: Path, name: str, value: str) -> None:
    check_refused(
        post(service, theirs.read_bytes(), **{**EULER, name: value}),
        400,
        "invalid_parameter",
        f"/query/{name}",
    )


def test_rights_and_quotas_of_uploads_count(service: InProcess, theirs: Path) -> None:
    content = theirs.read_bytes()
    with ExitStack() as stack:
        checked(service.user.post("/v1/projects", json={"name": "nets"}))
        viewer = person(service, stack, "vera", nets="viewer")
        member = person(service, stack, "mira", nets="member")
        for client in (viewer, member):
            client.headers["ipulse-project"] = "nets"
        refused = sent(viewer, content, **EULER)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_permitted")
        quotas = "/v1/projects/nets/quotas"
        for limits in ({"uploads": 0, "bytes": None}, {"uploads": None, "bytes": 100}):
            checked(service.user.patch(quotas, json={"limits": limits}))
            check_refused(sent(member, content, **EULER), 409, "quota_exceeded")
        checked(service.user.patch(quotas, json={"limits": {"bytes": 10_000}}))
        first = checked(sent(member, content, **EULER))
        # The same weights are one upload.
        again = checked(sent(member, content, **EULER))
        assert again["weights"]["upload_id"] == first["weights"]["upload_id"]
        path = f"/v1/uploads/{first['weights']['upload_id']}"
        assert checked(member.get(path))["purpose"] == "weights"
        assert viewer.get(path).status_code == 404
        assert member.delete(path).status_code == 204


def test_files_are_read_in_a_process_of_their_own(
    service: InProcess, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = theirs.read_bytes()
    reader = service.state.reader
    without = Isolation(True, {"IPULSE_SANDBOX": "none"})
    monkeypatch.setattr(reader, "isolation", without)
    check_refused(post(service, content, **EULER), 503, "no_sandbox")
    monkeypatch.setattr(reader, "isolation", Isolation(False, {"IPULSE_SANDBOX": "none"}))
    assert post(service, content, **EULER).status_code == 200


def test_other_requests_are_answered_while_a_file_is_read(
    service: InProcess, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ending = threading.Event(), threading.Event()
    read = service.state.reader.read

    def wait(*arguments: Any) -> dict[str, Any]:
        began.set()
        assert ending.wait(60)
        return read(*arguments)

    monkeypatch.setattr(service.state.reader, "read", wait)
    with ThreadPoolExecutor(1) as beside:
        importing = beside.submit(post, service, theirs.read_bytes(), **EULER)
        assert began.wait(60)
        assert service.user.get("/v1/jobs").status_code == 200
        ending.set()
        assert importing.result().status_code == 200

"""Custom ops: who may push them, what is checked, and which specs may name them."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from ipulse.spec import parse_spec
from ipulse_core.source_package import PackedFile, write_package
from ipulse_service.jobs import submission
from tests.service.agents import PHASES, Attempt, phase
from tests.service.conditions import eventually
from tests.service.datasets.uploading import check_refused
from tests.service.http.routes.test_queue import announce, claim
from tests.service.running import InProcess

MANIFEST: dict[str, Any] = {
    "name": "pool_op",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["steps", "batch", "senders"]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["steps", "batch", "senders // width"]}],
    "gradients": ["x"],
    "attributes": {"width": {"type": "integer", "default": 2, "minimum": 1, "maximum": 8}},
    "sizes": {"steps": 3, "batch": 2, "senders": 8},
}


def package(manifest: dict[str, Any] | None = None, note: str = "", **changes: Any) -> bytes:
    document = {**(MANIFEST if manifest is None else manifest), **changes}
    content = io.BytesIO()
    files = [
        PackedFile("op.json", json.dumps(document).encode()),
        PackedFile("reference.py", f"# {note}\n".encode()),
    ]
    write_package(files, content)
    return content.getvalue()


def announced(client: httpx.Client, content: bytes) -> httpx.Response:
    digest = hashlib.sha256(content).hexdigest()
    return client.post(
        "/v1/uploads", json={"size": len(content), "sha256": digest, "purpose": "op"}
    )


def pushed(client: httpx.Client, content: bytes) -> httpx.Response:
    begun = announced(client, content)
    assert begun.status_code in (200, 201), begun.text
    headers = {"upload-offset": "0", "content-type": "application/octet-stream"}
    return client.patch(begun.headers["location"], content=content, headers=headers)


def spec(content: bytes, neurons: int = 16, **changes: Any) -> dict[str, Any]:
    reference = f"pool_op@sha256:{hashlib.sha256(content).hexdigest()}"
    layer = {"kind": "op", "op": reference, "neurons": neurons, **changes}
    return {"version": 1, "network": {"layers": [{"neurons": 32}, layer]}}


def pointers(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [each["pointer"] for each in answer.json()["errors"]]


@pytest.fixture
def coder(service: InProcess) -> Iterator[httpx.Client]:
    """A client with a token that may submit code."""
    with coding(service) as client:
        yield client


@contextmanager
def coding(service: InProcess) -> Iterator[httpx.Client]:
    body = {"name": "coder", "role": "user", "seconds": 600, "submit_code": True}
    token = service.user.post("/v1/tokens", json=body).json()["token"]
    with service.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        yield client


def test_code_needs_the_right_on_every_way(service: InProcess, coder: httpx.Client) -> None:
    content = package(note="rights")
    check_refused(announced(service.user, content), 403, "code_not_permitted")
    assert pushed(coder, content).status_code == 204
    document = spec(content)
    check_refused(service.user.post("/v1/jobs", json=document), 403, "code_not_permitted")
    several = {"jobs": [{"spec": document}]}
    check_refused(service.user.post("/v1/jobs:batch", json=several), 403, "code_not_permitted")
    digest = hashlib.sha256(content).hexdigest()
    check_refused(service.user.delete(f"/v1/ops/{digest}"), 403, "code_not_permitted")
    job = coder.post("/v1/jobs", json=document)
    assert job.status_code == 202, job.text
    op = service.user.get(f"/v1/ops/{digest}").json()
    assert (op["pushed_by"], op["jobs"]) == ("coder", 1)
    for query in ("op:pool_op", f'op:"{op["reference"]}"', f"op:pool_op@sha256:{digest[:9]}*"):
        asked = {"q": f"{query} id:{job.json()['id']}", "columns": "op"}
        [listed] = service.user.get("/v1/jobs", params=asked).json()["jobs"]
        assert listed["values"]["op"] == op["reference"]
    assert service.user.get("/v1/jobs", params={"q": "op:pool"}).json()["jobs"] == []
    path = f"/v1/jobs/{job.json()['id']}/continue"
    check_refused(service.user.post(path, json={"epochs": 1}), 403, "code_not_permitted")


PLAIN: dict[str, Any] = {
    "version": 1,
    "network": {"layers": [{"neurons": 32}, {"neurons": 16}]},
    "training": {"epochs": 1},
}


def sweep_of(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    parameters = {"/seed": {"values": [1, 2]}}
    return {"version": 1, "sweep": "ops", "spec": document, "parameters": parameters, **changes}


def test_no_sweep_takes_an_op_past_the_right(service: InProcess, coder: httpx.Client) -> None:
    content = package(note="sweeps")
    pushed(coder, content)
    document = spec(content)
    layer = document["network"]["layers"][1]
    ways = [
        sweep_of(document),
        sweep_of(PLAIN, parameters={"/network/layers/1": {"values": [layer, {"neurons": 8}]}}),
        sweep_of(PLAIN, parameters={"/network": {"values": [document["network"]]}}),
        sweep_of(
            PLAIN,
            parameters={"/network/layers/1": {"values": [{"neurons": 8}, layer]}},
            method="random",
            trials=1,
        ),
        sweep_of(
            PLAIN,
            parameters={},
            together=[
                {
                    "parameters": ["/network/layers/1", "/seed"],
                    "values": [[layer, 1], [{"neurons": 8}, 2]],
                }
            ],
        ),
    ]
    for way in ways:
        check_refused(service.user.post("/v1/sweeps", json=way), 403, "code_not_permitted")
    begun = coder.post("/v1/sweeps", json=sweep_of(document))
    assert begun.status_code == 201, begun.text
    path = f"/v1/sweeps/{begun.json()['id']}"
    for change in ({"seeds": [7, 8]}, {"values": {"/seed": [3]}}, {"parallel": 2}):
        check_refused(service.user.patch(path, json=change), 403, "code_not_permitted")
    assert coder.patch(path, json={"values": {"/seed": [3]}}).status_code == 200
    varied = sweep_of(PLAIN, parameters={"/network/layers/1": {"values": [{"neurons": 8}]}})
    plain = service.user.post("/v1/sweeps", json=varied)
    assert plain.status_code == 201, plain.text
    added = {"values": {"/network/layers/1": [layer]}}
    plain_path = f"/v1/sweeps/{plain.json()['id']}"
    check_refused(service.user.patch(plain_path, json=added), 403, "code_not_permitted")
    for stopped in (path, plain_path):
        service.user.post(f"{stopped}/stop", params={"running": "cancel"})


def test_every_trial_of_a_sweep_is_checked(coder: httpx.Client) -> None:
    content = package(note="checked trials")
    pushed(coder, content)
    wrong = sweep_of(spec(content), parameters={"/network/layers/1/neurons": {"values": [16, 15]}})
    assert pointers(coder.post("/v1/sweeps", json=wrong)) == ["/spec/network/layers/1/neurons"]


@pytest.fixture
def worker(alone: InProcess) -> Iterator[httpx.Client]:
    """A client as `coder`, of a service with an agent that has a sandbox."""
    announce(alone, "a", "cpu", sandbox={"state": "bubblewrap"})
    with coding(alone) as client:
        yield client


def claimed(service: InProcess, job_id: str) -> Attempt:
    attempt = claim(service, "a", "cpu")
    assert attempt.claim["job_id"] == job_id
    return attempt


def test_an_attempt_gets_the_ops_of_its_job_and_no_other(
    alone: InProcess, worker: httpx.Client
) -> None:
    service, coder = alone, worker
    contents = [package(note="first"), package(note="second"), package(note="unused")]
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    for content in contents:
        pushed(coder, content)
    document = spec(contents[0])
    document["network"]["layers"] += spec(contents[1], neurons=8)["network"]["layers"][1:]
    job = coder.post("/v1/jobs", json=document)
    assert job.status_code == 202, job.text
    for digest in digests[:2]:
        assert coder.delete(f"/v1/ops/{digest}").status_code == 204  # the job keeps the package
    attempt = claimed(service, job.json()["id"])
    assert {op["sha256"] for op in attempt.claim["ops"]} == set(digests[:2])
    assert attempt.claim["start_from"] is None
    headers = {"ipulse-fence": attempt.fence}
    for content, digest in zip(contents[:2], digests, strict=False):
        answer = service.worker.get(f"{attempt.path}/ops/{digest}", headers=headers)
        assert answer.content == content
    for digest in (digests[2], "0" * 64, "..%2fstart-file"):
        answer = service.worker.get(f"{attempt.path}/ops/{digest}", headers=headers)
        assert answer.status_code == 404
    wrong = {"ipulse-fence": "x" * 43}
    assert service.worker.get(f"{attempt.path}/ops/{digests[0]}", headers=wrong).status_code == 409
    assert attempt.finish("program_failed").status_code == 200
    assert coder.delete(f"/v1/jobs/{job.json()['id']}").status_code == 204
    for content, digest in zip(contents[:2], digests, strict=False):
        path = service.settings.artifacts_dir / "sha256" / digest[:2] / digest
        uploads = pushed(coder, content)  # it can be pushed again
        assert uploads.status_code in (204, 409)
        assert path.exists()


def test_trials_of_a_sweep_get_their_ops(alone: InProcess, worker: httpx.Client) -> None:
    content = package(note="trials")
    pushed(worker, content)
    begun = worker.post("/v1/sweeps", json=sweep_of(spec(content)))
    assert begun.status_code == 201, begun.text
    query = {"q": f"sweep:{begun.json()['id']} op:pool_op"}
    eventually(lambda: len(alone.user.get("/v1/jobs", params=query).json()["jobs"]) == 2)
    for _ in range(2):
        attempt = claim(alone, "a", "cpu")
        assert [op["sha256"] for op in attempt.claim["ops"]] == [sha256_of(content)]


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


GAIN = {"name": "gain", "shape": ["senders"], "initialiser": "ones"}


def test_a_job_starts_from_one_with_the_same_weights_of_its_op(
    alone: InProcess, worker: httpx.Client
) -> None:
    service, coder = alone, worker
    trains = {"weights": [GAIN], "gradients": ["x", "gain"]}
    content, other = package(note="parent", **trains), package(note="without weights")
    for each in (content, other):
        pushed(coder, each)
    parent = coder.post("/v1/jobs", json=spec(content)).json()["id"]
    attempt = claimed(service, parent)
    for name in PHASES:
        attempt.report(phase(name))
    assert attempt.put("checkpoint.npz", "checkpoint", b"state").status_code == 201
    attempt.report({"kind": "checkpoint", "path": "checkpoint.npz", "epoch": 1, "step": 6})
    assert attempt.put("weights.npz", "weights", b"weights").status_code == 201
    assert attempt.put("manifest.json", "manifest").status_code == 201
    assert attempt.finish("completed").status_code == 200
    query = {"start_from": parent, "start_mode": "weights"}
    child = coder.post("/v1/jobs", json=spec(content), params=query)
    assert child.status_code == 202, child.text
    started = claimed(service, child.json()["id"])
    assert started.claim["start_from"]["mode"] == "weights"
    assert len(started.claim["ops"]) == 1
    started.finish("program_failed")
    refused = coder.post("/v1/jobs", json=spec(other), params=query)
    assert pointers(refused) == ["/network"]
    assert "layer_2.gain" in refused.json()["errors"][0]["detail"]
    more = coder.post(f"/v1/jobs/{parent}/continue", json={"epochs": 1})
    assert more.status_code == 202, more.text
    again = claimed(service, more.json()["id"])
    assert again.claim["start_from"]["mode"] == "continue"
    assert len(again.claim["ops"]) == 1
    again.finish("program_failed")


def test_pushed_ops_are_listed_until_they_are_deleted(
    service: InProcess, coder: httpx.Client
) -> None:
    contents = [package(note=f"listed {number}") for number in range(3)]
    for content in contents:
        assert pushed(coder, content).status_code == 204
        assert pushed(coder, content).status_code in (204, 409)  # it is there already
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    found: list[str] = []
    token = ""
    while True:
        query = {"limit": 1, **({"page_token": token} if token else {})}
        page = service.user.get("/v1/ops", params=query).json()
        found += [op["sha256"] for op in page["ops"]]
        token = page["next_page_token"]
        if not token:
            break
    assert [digest for digest in found if digest in digests] == digests[::-1]
    one = service.user.get(f"/v1/ops/{digests[0]}").json()
    assert one["reference"] == f"pool_op@sha256:{digests[0]}"
    assert one["manifest"] == MANIFEST
    assert coder.delete(f"/v1/ops/{digests[0]}").status_code == 204
    assert service.user.get(f"/v1/ops/{digests[0]}").status_code == 404
    assert pointers(coder.post("/v1/jobs", json=spec(contents[0]))) == ["/network/layers/1/op"]


def test_a_deleted_op_can_be_pushed_again(service: InProcess, coder: httpx.Client) -> None:
    content = package(note="again")
    digest = hashlib.sha256(content).hexdigest()
    assert pushed(coder, content).status_code == 204
    assert coder.delete(f"/v1/ops/{digest}").status_code == 204
    assert pushed(coder, content).status_code == 204
    assert service.user.get(f"/v1/ops/{digest}").json()["sha256"] == digest
    job = coder.post("/v1/jobs", json=spec(content))
    assert job.status_code == 202, job.text
    service.user.post(f"/v1/jobs/{job.json()['id']}/cancel")


@pytest.mark.parametrize("digest", ["0" * 64, "a%00b", "%F0%9F%98%80", "x" * 5000, "..%2fjobs"])
def test_a_digest_of_no_op_is_not_found(coder: httpx.Client, digest: str) -> None:
    for method in ("GET", "DELETE"):
        assert coder.request(method, f"/v1/ops/{digest}").status_code == 404


def test_an_op_stays_while_a_job_that_names_it_is_stored(
    service: InProcess, coder: httpx.Client
) -> None:
    """Otherwise its package could be deleted before the job refers to it."""
    content = package(note="held")
    pushed(coder, content)
    digest = hashlib.sha256(content).hexdigest()
    deleting = threading.Thread(target=lambda: coder.delete(f"/v1/ops/{digest}"))
    with service.database.write() as transaction:
        submission.store_job(transaction, submission.resolve(parse_spec(spec(content))))
        deleting.start()
        deleting.join(0.3)  # it waits; without a lock it would have deleted the package by then
    deleting.join()
    assert coder.get(f"/v1/ops/{digest}").status_code == 404
    assert (service.settings.artifacts_dir / "sha256" / digest[:2] / digest).exists()


WRONG_MANIFESTS: list[tuple[dict[str, Any], str]] = [
    ({"name": "no name"}, "/name"),
    ({"kernel": ["missing.cpp"]}, "/kernel/0"),
    (
        {"outputs": [{"name": "y", "dtype": "float32", "shape": ["nobody"]}]},
        "/outputs/0/shape/0",
    ),
    (
        {"outputs": [{"name": "y", "dtype": "float32", "shape": ["2 ** 9"]}]},
        "/outputs/0/shape/0",
    ),
    ({"attributes": {"width": {"type": "list"}}}, "/attributes/width/type"),
    (
        {"attributes": {"width": {"type": "integer", "default": 9, "maximum": 8}}},
        "/attributes/width/default",
    ),
    ({"gradients": ["z"]}, "/gradients/0"),
    ({"colour": 1}, "/colour"),
]


def test_a_wrong_manifest_is_refused_with_its_places(coder: httpx.Client) -> None:
    for changes, pointer in WRONG_MANIFESTS:
        assert pointer in pointers(pushed(coder, package(**changes))), changes


def test_a_package_without_a_manifest_or_with_a_huge_one_is_refused(coder: httpx.Client) -> None:
    content = io.BytesIO()
    write_package([PackedFile("reference.py", b"")], content)
    assert pushed(coder, content.getvalue()).status_code == 422
    assert pushed(coder, package(name="x" * 70_000)).status_code == 422


WRONG_LAYERS: list[tuple[dict[str, Any], str]] = [
    ({"neurons": 15}, "/network/layers/1/neurons"),
    ({"attributes": {"width": 9}}, "/network/layers/1/attributes/width"),
    ({"attributes": {"width": True}}, "/network/layers/1/attributes/width"),
    ({"attributes": {"depth": 1}}, "/network/layers/1/attributes/depth"),
    ({"attributes": {"width": 5}}, "/network/layers/1/neurons"),
    ({"op": "other@sha256:" + "0" * 64}, "/network/layers/1/op"),
    ({"op": "pool_op@sha256:0"}, "/network/layers/1/op"),
]


def test_a_layer_that_does_not_fit_is_refused_with_its_place(coder: httpx.Client) -> None:
    content = package(note="fits")
    pushed(coder, content)
    for changes, pointer in WRONG_LAYERS:
        document = spec(content, **changes)
        assert pointers(coder.post("/v1/jobs", json=document)) == [pointer], changes
        assert pointers(coder.post("/v1/jobs:validate", json=document)) == [pointer], changes


def test_a_network_in_which_nothing_learns_is_refused(coder: httpx.Client) -> None:
    content = package(note="frozen")
    learning = package(note="learns", weights=[GAIN], gradients=["x", "gain"])
    for each in (content, learning):
        pushed(coder, each)
    for each, places in ((content, ["/network/layers"]), (learning, [])):
        document = spec(each)
        document["network"]["layers"][0]["trainable"] = False
        document["network"]["readout"] = {"trainable": False}
        answer = coder.post("/v1/jobs:validate", json=document)
        assert (pointers(answer) if places else []) == places, answer.text
        if not places:
            assert answer.status_code == 200, answer.text


def test_huge_weights_of_an_op_are_refused(coder: httpx.Client) -> None:
    huge = {**GAIN, "shape": ["senders * 1000000", "neurons * 1000000"]}
    content = package(
        note="huge",
        weights=[huge],
        gradients=["x", "gain"],
        sizes={**MANIFEST["sizes"], "neurons": 4},
    )
    assert pushed(coder, content).status_code == 204
    assert pointers(coder.post("/v1/jobs:validate", json=spec(content))) == ["/network/layers/1/op"]


def test_no_memory_of_tiles_is_predicted_for_ops(coder: httpx.Client) -> None:
    content = package(note="tiles", sources=["reference.py"])
    pushed(coder, content)
    document = {**spec(content), "device": {"kind": "emulator", "tiles": 1}}
    answer = coder.post("/v1/jobs:validate", json=document)
    assert answer.status_code == 200, answer.text
    assert answer.json().get("fit") is None


def test_an_op_without_poplar_source_is_refused_on_the_emulator(coder: httpx.Client) -> None:
    content = package(note="emulator")
    pushed(coder, content)
    for kind in ("emulator", "ipu"):
        document = {**spec(content), "device": {"kind": kind}}
        assert pointers(coder.post("/v1/jobs", json=document)) == ["/network/layers/1/op"]

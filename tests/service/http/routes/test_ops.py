"""Custom ops: who may push them, what is checked, and which specs may name them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator

import httpx
import pytest

from ipulse.spec import parse_spec
from ipulse_service.jobs import submission
from tests.service.agents import PHASES, Attempt, phase
from tests.service.conditions import eventually
from tests.service.datasets.uploading import check_refused
from tests.service.http.routes.test_queue import announce, claim
from tests.service.pushed_ops import (
    GAIN,
    MANIFEST,
    announced,
    coding,
    package,
    pointers,
    pushed,
    spec,
    sweep_of,
)
from tests.service.running import InProcess


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
        assert not path.exists()
        assert pushed(coder, content).status_code == 204  # it can be pushed again
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


def test_a_job_starts_from_one_with_the_same_weights_of_its_op(
    alone: InProcess, worker: httpx.Client
) -> None:
    service, coder = alone, worker
    trains = {"weights": [GAIN], "gradients": ["x", "gain"]}
    content, other = package(note="parent", **trains), package(note="without weights")
    sized = package(note="sized", **{**trains, "weights": [{**GAIN, "shape": ["width"]}]})
    for each in (content, other, sized):
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
    unfit = spec(sized, attributes={"width": "two"})
    places = pointers(coder.post("/v1/jobs", json=unfit, params=query))
    assert places == ["/network/layers/1/attributes/width"]
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

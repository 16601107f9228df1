"""Specs that name uploaded data sets."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.service.datasets.files import hdf5, npz, spikes
from tests.service.datasets.uploading import check_refused, push, upload
from tests.service.running import SPEC, InProcess


def spec(**data: Any) -> dict[str, Any]:
    return {**SPEC, "data": data}


def resolved(service: InProcess, **data: Any) -> dict[str, Any]:
    response = service.user.post("/v1/jobs:validate", json=spec(**data))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["spec"]["data"]
    return found


def refused(service: InProcess, pointer: str, code: str, **data: Any) -> str:
    for path in ("/v1/jobs", "/v1/jobs:validate", "/v1/jobs:plan"):
        response = service.user.post(path, json=spec(**data))
        check_refused(response, 422, "invalid_spec", pointer)
        (problem,) = response.json()["errors"]
        assert problem["code"] == code
    return str(problem["detail"])


def test_names_become_digests_and_sizes(service: InProcess, tmp_path: Path) -> None:
    old = push(service, spikes(steps=10, channels=6, seed=secrets.randbelow(2**31)))
    name = old["dataset"]
    new = push(service, spikes(steps=12, channels=4, seed=1), name)
    latest = resolved(service, kind="npz", dataset=name)
    assert latest["dataset"] == f"sha256:{new['sha256']}"
    assert (latest["channels"], latest["classes"], latest["steps"]) == (4, 2, 12)
    assert resolved(service, kind="npz", dataset=f"{name}@1")["channels"] == 6
    digest = f"sha256:{old['sha256']}"
    assert resolved(service, kind="npz", dataset=digest, steps=5)["steps"] == 5
    events = push(service, hdf5(tmp_path / "mine.h5"))
    found = resolved(service, kind="events", dataset=events["dataset"], step_ms=2.0)
    last_ms = events["facts"]["last_ms"]
    assert (found["steps"] - 1) * 2.0 <= last_ms < found["steps"] * 2.0


@pytest.mark.parametrize(
    ("kind", "numbers"),  # one that is rounded up and, but for float64, one that is rounded down
    [("float64", (3, 12)), ("float32", (3, 7)), ("float16", (12, 123))],
)
def test_the_steps_hold_the_last_event_however_its_time_was_rounded(
    service: InProcess, kind: str, numbers: tuple[int, ...]
) -> None:
    for k in numbers:
        times = np.array([0.1, 0.1 * k]).astype(kind)
        pair = np.arange(2)
        content = npz(event_samples=pair, event_times_ms=times, event_channels=pair, labels=pair)
        version = push(service, content)
        assert version["facts"]["time_type"] == kind
        data = resolved(service, kind="npz", dataset=version["dataset"], step_ms=0.1)
        assert data["steps"] == k + 1, k


def test_a_submitted_name_is_the_version_of_then(service: InProcess) -> None:
    first = push(service, spikes(seed=secrets.randbelow(2**31)))
    job = service.submit(spec(kind="npz", dataset=first["dataset"]))
    push(service, spikes(seed=secrets.randbelow(2**31)), first["dataset"])
    stored = service.job(job["id"])["spec"]["data"]["dataset"]
    assert stored == f"sha256:{first['sha256']}"
    key = {"idempotency-key": secrets.token_hex(8)}
    body = spec(kind="npz", dataset=first["dataset"])
    one = service.submit(body, **key)
    push(service, spikes(seed=secrets.randbelow(2**31)), first["dataset"])
    assert service.submit(body, **key)["id"] == one["id"]


def test_what_does_not_fit_is_named(service: InProcess) -> None:
    version = push(service, spikes(steps=10, channels=6))
    name = version["dataset"]
    mismatch = "dataset_mismatch"
    refused(service, "/data/channels", mismatch, kind="npz", dataset=name, channels=7)
    labels = push(service, npz(spikes=[[[1, 0]]] * 4, labels=[0, 1, 2, 3]))["dataset"]
    refused(service, "/data/classes", mismatch, kind="npz", dataset=labels, classes=3)
    encoding = {"kind": "rate"}
    refused(service, "/data/encoding", mismatch, kind="npz", dataset=name, encoding=encoding)
    refused(service, "/data/kind", "dataset_kind", kind="events", dataset=name)
    late = push(service, b"sample,time_ms,channel,label\n0,1,0,0\n1,99999,1,1\n")["dataset"]
    refused(service, "/data/steps", mismatch, kind="events", dataset=late)


def test_counts_need_an_input_of_counts(service: InProcess) -> None:
    """Events in any other form may be several in a step: they are then one spike."""
    counts = push(
        service, npz(spikes=[[[1, 0], [0, 2]]] * 2 + [[[1, 1], [0, 0]]], labels=[0, 1, 1])
    )
    data = {"kind": "npz", "dataset": counts["dataset"]}
    for given in ({}, {"input": "spikes"}):
        detail = refused(service, "/data/input", "dataset_mismatch", **data, **given)
        assert "counts" in detail
    assert resolved(service, **data, input="counts")["input"] == "counts"
    ones = push(service, npz(spikes=[[[1, 0], [1, 1]]] * 2, labels=[0, 1]))
    pairs = {"event_samples": [0, 0, 1], "event_times_ms": [1.0, 1.0, 1.0]}
    twice = push(service, npz(**pairs, event_channels=[3, 3, 0], labels=[0, 1]))
    for version, has_counts in ((counts, True), (ones, False), (twice, None)):
        assert version["facts"]["has_counts"] is has_counts
    for version in (ones, twice):
        assert resolved(service, kind="npz", dataset=version["dataset"])["kind"] == "npz"


def test_targets_become_outputs(service: InProcess) -> None:
    random = np.random.RandomState(secrets.randbelow(2**31))
    some = random.rand(6, 5, 3) < 0.5
    each = push(service, npz(spikes=some, targets=random.randn(6, 5, 2)))
    facts = each["facts"]
    assert (facts["outputs"], facts["target_steps"], facts["classes"]) == (2, 5, 0)
    by_sample = push(service, npz(spikes=some, targets=random.randn(6, 4), labels=[0, 1] * 3))
    body = spec(kind="npz", dataset=each["dataset"])

    def validated(loss: str, version: dict[str, Any], status: int = 200, **data: Any) -> Any:
        data = {"kind": "npz", "dataset": version["dataset"], **data}
        response = service.user.post(
            "/v1/jobs:validate", json={**body, "data": data, "training": {"loss": loss}}
        )
        assert response.status_code == status, response.text
        return response.json()

    found = validated("step_mse", each)["spec"]["data"]
    assert (found["outputs"], found["classes"], found["steps"]) == (2, 0, 5)
    found = validated("last_membrane_mse", by_sample)["spec"]["data"]
    assert (found["outputs"], found["classes"]) == (4, 0)
    found = validated("step_cross_entropy", by_sample)["spec"]["data"]
    assert (found["outputs"], found["classes"]) == (0, 2)

    def pointer(*arguments: Any, **data: Any) -> str:
        return str(validated(*arguments, 422, **data)["errors"][0]["pointer"])

    assert pointer("mean_membrane_mse", each) == "/training/loss"  # it has a target of each step
    assert pointer("step_cross_entropy", each) == "/training/loss"  # it has no labels
    assert pointer("step_mse", each, steps=4) == "/data/steps"
    assert pointer("step_mse", by_sample, outputs=3) == "/data/outputs"
    labels = push(service, spikes(seed=secrets.randbelow(2**31)))
    assert pointer("step_mse", labels) == "/training/loss"


@pytest.mark.parametrize(
    "targets", [np.full((6, 2), np.nan), np.full((6, 2), 1e300), np.zeros(6), np.zeros((5, 2))]
)
def test_targets_that_cannot_be_learned_are_refused(
    service: InProcess, targets: np.ndarray[Any, Any]
) -> None:
    content = npz(spikes=np.ones((6, 5, 3)), labels=[0, 1] * 3, targets=targets)
    version = push(service, content)
    assert version["state"] == "refused"
    assert "target" in version["refusal"]


def test_lists_of_the_readout_wait_for_the_classes(service: InProcess) -> None:
    version = push(service, npz(spikes=[[[1, 0]]] * 6, labels=[0, 1, 2, 0, 1, 2]))
    body = spec(kind="npz", dataset=version["dataset"])
    for decays, status in (([0.9, 0.8, 0.7], 200), ([0.9, 0.8], 422)):
        readout = {"readout": {"kind": "leaky", "decay": decays}}
        body["network"] = {**body["network"], **readout}
        response = service.user.post("/v1/jobs:validate", json=body)
        assert response.status_code == status, response.text
        if status == 422:
            check_refused(response, 422, "invalid_spec", "/network/readout/decay")


@pytest.mark.parametrize(
    "reference", ["nothing", "nothing@1", "nothing@99999", f"sha256:{'0' * 64}"]
)
def test_what_is_unknown_is_refused(service: InProcess, reference: str) -> None:
    detail = refused(service, "/data/dataset", "dataset_unknown", kind="npz", dataset=reference)
    assert "ipulse data list" in detail


def test_what_is_refused_or_deleted_is_refused(service: InProcess) -> None:
    bad = push(service, npz(spikes=[[[0, -1]]] * 3, labels=[0, 1, 0]))
    detail = refused(
        service, "/data/dataset", "dataset_refused", kind="npz", dataset=bad["reference"]
    )
    assert bad["refusal"] in detail
    gone = push(service, spikes(seed=secrets.randbelow(2**31)))
    service.user.delete(f"/v1/datasets/{gone['dataset']}")
    for reference in (gone["dataset"], gone["reference"], f"sha256:{gone['sha256']}"):
        refused(service, "/data/dataset", "dataset_unknown", kind="npz", dataset=reference)


@pytest.mark.parametrize(
    "reference", ["../x", "/etc/passwd", "a/b", "a@0", "a@-1", "sha256:x", "a@1@2", "", "x" * 200]
)
def test_no_path_is_a_reference(service: InProcess, reference: str) -> None:
    response = service.user.post("/v1/jobs", json=spec(kind="npz", dataset=reference))
    check_refused(response, 422, "invalid_spec", "/data/dataset")


def test_a_digest_of_another_file_is_no_reference(service: InProcess) -> None:
    """Artifacts and unfinished data sets cannot be read by their digest."""
    content = secrets.token_bytes(100)
    upload(service, content)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    refused(service, "/data/dataset", "dataset_unknown", kind="npz", dataset=digest)


class TestDeletion:
    def test_waits_for_jobs(self, service: InProcess) -> None:
        version = push(service, spikes(seed=secrets.randbelow(2**31)))
        name = version["dataset"]
        push(service, spikes(seed=secrets.randbelow(2**31)), name)
        job = service.submit(spec(kind="npz", dataset=f"{name}@1"))
        for place in (f"/v1/datasets/{name}/versions/1", f"/v1/datasets/{name}"):
            response = service.user.delete(place)
            check_refused(response, 409, "in_use")
            assert job["id"] in response.json()["detail"]
        states = [
            each["state"] for each in service.user.get(f"/v1/datasets/{name}").json()["versions"]
        ]
        assert states == ["ready", "ready"]
        assert service.user.delete(f"/v1/datasets/{name}/versions/2").status_code == 204
        service.user.post(f"/v1/jobs/{job['id']}/cancel")
        assert service.user.delete(f"/v1/datasets/{name}").status_code == 204

    def test_keeps_the_bytes_for_jobs_that_have_ended(self, service: InProcess) -> None:
        version = push(service, spikes(seed=secrets.randbelow(2**31)))
        sha256 = version["sha256"]
        job = service.submit(spec(kind="npz", dataset=version["dataset"]))
        service.user.post(f"/v1/jobs/{job['id']}/cancel")
        assert service.user.delete(f"/v1/datasets/{version['dataset']}").status_code == 204
        blob = service.settings.artifacts_dir / "sha256" / sha256[:2] / sha256
        assert blob.exists()
        assert service.user.delete(f"/v1/jobs/{job['id']}").status_code == 204
        assert not blob.exists()

"""Specs of version 2 are submitted, shown, searched and compared as those of version 1."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from ipulse.spec.document.file import parse_spec_file
from ipulse_core.registry.versions import lower
from ipulse_core.spec.upgrade import spec_key, upgrade, without_names
from tests.service.http.routes.crowd import submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess

LAYERS = [
    {"neurons": 4, "neuron": {"decay": 0.8}, "connections": [{"bias": True}]},
    {"name": "last", "neurons": 4, "capacity": 2},
]
OLD = [{"neurons": 4, "decay": 0.8, "bias": True}, {"neurons": 4, "capacity": 2}]


def written(version: int, layers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"version": version, "name": "twice", "network": {"layers": layers}, **more}


def names_in(service: InProcess, query: str) -> set[str]:
    found = service.user.get("/v1/jobs", params={"q": query})
    assert found.status_code == 200, found.text
    return {job["id"] for job in found.json()["jobs"]}


def test_a_job_is_shown_in_every_form(service: InProcess) -> None:
    job_id = submit(service, written(2, LAYERS))
    job = service.job(job_id)
    assert job["spec"]["version"] == 1
    assert job["spec"]["network"]["layers"][0]["decay"] == 0.8
    shown = service.user.get(f"/v1/jobs/{job_id}/spec", params={"form": "version_2"}).json()
    assert (shown["form"], shown["format"]) == ("version_2", "yaml")
    document = parse_spec_file(shown["text"].encode(), "shown").value
    first, last = document["network"]["layers"]
    assert (document["version"], first["neuron"]["decay"], last["name"]) == (2, 0.8, "last")
    assert first["connections"][0]["bias"] is True
    kept = service.user.get(f"/v1/jobs/{job_id}/spec", params={"form": "submitted"}).json()
    assert '"version": 2' in kept["text"] or '"version":2' in kept["text"]
    again = service.user.post("/v1/jobs:validate", json=document).json()
    assert (again["spec"], again["spec_version_2"]) == (job["spec"], document)
    bias = {"kind": "dense", "bias": True}
    brief = written(2, [{**LAYERS[0], "connections": [bias]}, LAYERS[1]])
    assert again["brief"] == brief
    shown = service.user.get(f"/v1/jobs/{job_id}/spec", params={"form": "brief"}).json()
    assert parse_spec_file(shown["text"].encode(), "shown").value == brief


def test_an_agent_gets_what_agents_of_earlier_releases_understand(service: InProcess) -> None:
    new, old = submit(service, written(2, LAYERS)), submit(service, written(1, OLD))
    specs = [service.claim(job_id).json()["spec"] for job_id in (new, old)]
    assert specs[0] == specs[1] == service.job(old)["spec"]


@pytest.mark.parametrize(
    ("announced", "sent"), [([1], 1), ([1, 2], 2), ([2, 7], 2), ([2], 2), ([7], None)]
)
def test_an_agent_gets_the_newest_version_that_it_runs(
    service: InProcess, announced: list[int], sent: int | None
) -> None:
    job_id = submit(service, written(2, LAYERS))
    body = {"job_id": job_id, "agent": "a", "device_kinds": ["cpu"], "spec_versions": announced}
    answer = service.worker.post("/v1/worker/claims", json=body)
    if sent is None:
        assert check_problem(answer, 409)["code"] == "not_claimable"
        assert service.job(job_id)["state"] == "queued"
        return
    spec = answer.json()["spec"]
    assert spec["version"] == sent
    whole = service.job(job_id)["spec"]
    names = [layer.get("name") for layer in spec["network"]["layers"]]
    assert names == ([None, "last"] if sent == 2 else [None, None])
    assert upgrade(lower(spec)) == (whole if sent == 2 else without_names(whole))


def test_the_names_of_layers_do_not_change_what_checkpoints_are_of() -> None:
    named, unnamed = (
        upgrade(lower(written(2, [{"neurons": 4, **more}]))) for more in ({"name": "a"}, {})
    )
    assert spec_key(named) == spec_key(unnamed)


def test_columns_have_labels_of_their_own(service: InProcess) -> None:
    delays = {"per": "synapse", "longest": 3}
    submit(service, written(1, [{"neurons": 4, "delay": 2}]))
    submit(service, written(1, [{"neurons": 4, "delays": delays}]))
    columns = service.user.get("/v1/jobs:columns").json()["columns"]
    labels = [column["label"] for column in columns]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("layer", "place", "hint"),
    [
        ({"neurons": 4, "decay": 0.9}, "decay", "neuron.decay"),
        ({"neurons": 4, "neuron": {"threshold": -1}}, "neuron/threshold", "greater than 0"),
        ({"neurons": 10**9}, "neurons", "maximum"),
        ({"connections": [{"kind": "conv2d"}]}, "connections/0/filters", "required"),
    ],
)
def test_a_problem_is_at_the_place_that_was_written(
    service: InProcess, layer: dict[str, Any], place: str, hint: str
) -> None:
    body = check_problem(service.user.post("/v1/jobs", json=written(2, [layer])), 422)
    found = {error["pointer"]: error["detail"] for error in body["errors"]}
    assert hint in found[f"/network/layers/0/{place}"]


def test_a_key_takes_both_versions_for_one_job(service: InProcess) -> None:
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    unnamed = [LAYERS[0], {"neurons": 4, "capacity": 2}]
    jobs = [
        service.user.post("/v1/jobs", json=document, headers=headers)
        for document in (written(1, OLD), written(2, unnamed), written(2, unnamed))
    ]
    assert {job.status_code for job in jobs} == {202}
    assert len({job.json()["id"] for job in jobs}) == 1


def test_equal_networks_compare_without_a_difference(service: InProcess) -> None:
    group = f"g{secrets.token_hex(6)}"
    for document in (written(1, OLD), written(2, LAYERS)):
        submit(service, document, group=group)
    found = service.user.post("/v1/jobs:compare", json={"group": group}).json()
    assert (found["compared"], found["settings"]) == (2, [])


def test_what_differs_is_labelled_by_its_path_in_version_2(service: InProcess) -> None:
    group = f"g{secrets.token_hex(6)}"
    for decay in (0.5, 0.6):
        submit(service, written(1, [{"neurons": 4, "decay": decay}]), group=group)
    [column] = service.user.post("/v1/jobs:compare", json={"group": group}).json()["settings"]
    assert column["name"] == "network.layers.0.decay"
    assert column["label"] == "layers[0].neuron.decay"
    asked = {"group": group, "columns": [column["label"]]}
    found = service.user.post("/v1/jobs:compare", json=asked).json()
    assert [each["name"] for each in found["settings"]] == [column["name"]]


@pytest.mark.parametrize(
    "term",
    [
        "network.layers[0].neuron.decay:0.625",
        "layers[0].neuron.decay:0.625",
        "layers[0].decay:0.625",
        "/network/layers/0/neuron/decay:0.625",
        "layers[0].connections[0].bias:true layers[0].decay:0.625",
    ],
)
def test_search_knows_the_paths_of_both_versions(service: InProcess, term: str) -> None:
    neuron = {"decay": 0.625}
    jobs = {
        submit(service, written(1, [{"neurons": 4, "bias": True, **neuron}])),
        submit(
            service,
            written(2, [{"neurons": 4, "neuron": neuron, "connections": [{"bias": True}]}]),
        ),
    }
    submit(service, written(2, LAYERS))
    assert jobs <= names_in(service, term)
    assert all(
        service.job(job_id)["spec"]["network"]["layers"][0]["decay"] == 0.625
        for job_id in names_in(service, term)
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_sweep_varies_a_field_by_its_path_of_version_2(service: InProcess, version: int) -> None:
    sweep = {
        "sweep": "decays",
        "spec": written(version, [{"neurons": 4}]),
        "parameters": {
            "/network/layers/0/neuron/decay": {"values": [0.5, 0.75]},
            "/network/layers/0/connections/0/bias": {"values": [True]},
        },
        "parallel": 2,
    }
    made = service.user.post("/v1/sweeps", json=sweep)
    assert made.status_code in (201, 202), made.text
    broken = {**sweep, "parameters": {"/network/layers/0/neuron/decay": {"values": [0.5, 7]}}}
    body = check_problem(service.user.post("/v1/sweeps", json=broken), 422)
    assert body["errors"][0]["pointer"].startswith("/parameters/~1network~1layers~10~1neuron")

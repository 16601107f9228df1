"""Jobs are compared: what differs, and figures over seeds; on both databases."""

from __future__ import annotations

import secrets
import statistics
from typing import Any

import pytest

from tests.service.http.routes.crowd import spec, submit, train
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess

ACCURACIES = {0.01: [0.941, 0.946, 0.952], 0.1: [0.8, 0.7], 0.5: []}
RATE = "training.optimizer.learning_rate"


@pytest.fixture(scope="module")
def group(service: InProcess) -> str:
    """The name of a group of jobs with three learning rates and up to three seeds."""
    name = f"g{secrets.token_hex(6)}"
    for rate, accuracies in ACCURACIES.items():
        for seed in range(3):
            job_id = submit(service, spec(rate, seed, name=f"{rate}"), group=name)
            if seed < len(accuracies):
                train(service, job_id, [0.1, accuracies[seed]], kept=2)
            else:
                service.user.post(f"/v1/jobs/{job_id}/cancel")
    return name


def compare(service: InProcess, **body: Any) -> dict[str, Any]:
    response = service.user.post("/v1/jobs:compare", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_only_what_differs_is_shown(service: InProcess, group: str) -> None:
    found = compare(service, group=group)
    assert (found["total"], found["compared"]) == (9, 9)
    assert [(column["name"], column["distinct"]) for column in found["settings"]] == [
        ("seed", 3),
        (RATE, 3),
    ]
    assert found["settings"][1]["label"] == "learning_rate"
    assert found["metrics"] == ["test_accuracy", "loss"]
    assert found["smaller_is_better"] == ["loss"]
    newest, oldest = found["jobs"][0], found["jobs"][-1]
    assert (newest["settings"], newest["metrics"]["loss"]) == ({"seed": 2, RATE: 0.5}, None)
    assert oldest["metrics"]["test_accuracy"] == {
        "value": 0.941,
        "kept": 0.941,
        "best": 0.941,
        "min": 0.1,
        "max": 0.941,
        "last": 0.941,
        "best_epoch": 2,
    }


def test_groups_differ_in_all_but_the_seed(service: InProcess, group: str) -> None:
    found = compare(service, group=group)
    assert found["group_by"] == [RATE]
    by_rate = {each["values"][RATE]: each["metrics"]["test_accuracy"] for each in found["groups"]}
    assert list(by_rate) == [0.5, 0.1, 0.01]
    best = by_rate[0.01]
    assert (best["n"], best["of"], best["missing"]) == (3, 3, [])
    assert best["mean"] == pytest.approx(0.9463, abs=5e-5)
    assert best["sd"] == pytest.approx(0.0055, abs=5e-5)
    assert best["interval"] == pytest.approx(0.0137, abs=5e-5)
    assert (best["min"], best["max"]) == (0.941, 0.952)
    # scipy.stats.ttest_ind(ACCURACIES[0.01], ACCURACIES[0.1], equal_var=False)
    assert (best["is_best"], best["p"], best["p_holm"]) == (True, None, None)
    assert by_rate[0.1]["p"] == by_rate[0.1]["p_holm"] == pytest.approx(0.157503, rel=1e-5)
    two = by_rate[0.1]
    assert (two["n"], two["of"], len(two["missing"])) == (2, 3, 1)
    assert two["sd"] == pytest.approx(statistics.stdev(ACCURACIES[0.1]))
    none = by_rate[0.5]
    assert (none["n"], none["mean"], none["sd"], none["interval"]) == (0, None, None, None)


def test_columns_metrics_and_groups_can_be_chosen(service: InProcess, group: str) -> None:
    found = compare(
        service,
        q=f"group:{group} state:succeeded",
        columns=["name", "layers[0].neurons"],
        metrics=["test_accuracy.min", "test_loss"],
        group_by=["seed"],
    )
    assert [column["name"] for column in found["settings"]] == ["name", "network.layers.0.neurons"]
    assert found["jobs"][0]["settings"] == {"name": "0.1", "network.layers.0.neurons": 4}
    assert found["jobs"][0]["metrics"]["test_accuracy.min"]["value"] == 0.1
    assert [each["values"] for each in found["groups"]] == [{"seed": 1}, {"seed": 0}, {"seed": 2}]
    assert [each["metrics"]["test_accuracy.min"]["n"] for each in found["groups"]] == [2, 2, 1]
    assert found["groups"][2]["metrics"]["test_accuracy.min"]["sd"] is None
    alone = compare(service, q=f"group:{group}", group_by=[])["groups"]
    assert [each["metrics"]["test_accuracy"]["of"] for each in alone] == [9]
    separate = compare(service, group=group, **{"except": []})
    assert len(separate["groups"]) == 9


def test_named_jobs_keep_their_order(service: InProcess, group: str) -> None:
    ids = [job["id"] for job in compare(service, group=group)["jobs"]]
    chosen = [ids[3], ids[0], ids[3]]
    assert [job["id"] for job in compare(service, jobs=chosen)["jobs"]] == [ids[3], ids[0]]
    none = compare(service, q=f"group:{group} seed>100")
    assert (none["total"], none["jobs"], none["groups"], none["settings"]) == (0, [], [], [])


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 422, ""),
        ({"jobs": ["job_" + "0" * 24]}, 404, None),
        ({"jobs": ["\x00"]}, 422, "/jobs/0"),
        ({"jobs": [], "q": "a"}, 422, "/jobs"),
        ({"q": "state:"}, 422, "/q"),
        ({"q": "sed:1"}, 422, "/q"),
        ({"q": "", "metrics": ["test_accuracy", "seed"]}, 422, "/metrics/1"),
        ({"q": "", "columns": ["nonsense"]}, 422, "/columns/0"),
        ({"q": "", "group_by": ["neurons"]}, 422, "/group_by/0"),
        ({"q": "", "columns": ["name"] * 101}, 422, "/columns"),
        ({"group": "a b"}, 422, "/group"),
        ({"q": "", "sweep": "x"}, 422, "/sweep"),
    ],
)
def test_a_wrong_comparison_is_refused(
    service: InProcess, group: str, body: dict[str, Any], status: int, pointer: str | None
) -> None:
    problem = check_problem(service.user.post("/v1/jobs:compare", json=body), status)
    if pointer is not None:
        assert problem["errors"][0]["pointer"] == pointer


def test_a_reader_may_compare(service: InProcess, group: str) -> None:
    body = {"name": "r", "role": "reader", "seconds": 60}
    secret = service.user.post("/v1/tokens", json=body).json()["token"]
    headers = {"authorization": f"Bearer {secret}"}
    response = service.user.post("/v1/jobs:compare", json={"group": group}, headers=headers)
    assert response.status_code == 200

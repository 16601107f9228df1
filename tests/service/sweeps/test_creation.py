"""Sweeps that are created, listed, refused and not there."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import update

from ipulse_service.db import tables
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess
from tests.service.sweeps.sweeping import (
    GRID,
    NEURONS,
    RATE,
    begun,
    config,
    create,
    refused,
    run_all,
    trials_of,
)


class TestTheList:
    def test_is_paged_newest_first(self, service: InProcess) -> None:
        made = [create(service, parallel=1)["id"] for _ in range(3)]
        first = service.user.get("/v1/sweeps", params={"page_size": 2}).json()
        assert [sweep["id"] for sweep in first["sweeps"]] == [made[2], made[1]]
        query = {"page_size": 2, "page_token": first["next_page_token"]}
        second = service.user.get("/v1/sweeps", params=query).json()
        assert second["sweeps"][0]["id"] == made[0]
        for sweep_id in made:
            service.user.post(f"/v1/sweeps/{sweep_id}/stop")

    def test_trials_are_paged(self, service: InProcess) -> None:
        sweep = create(service, parallel=6)
        begun(service, sweep["id"], 6)
        path = f"/v1/sweeps/{sweep['id']}/trials"
        first = service.user.get(path, params={"page_size": 4}).json()
        assert ([trial["number"] for trial in first["trials"]], first["next_after"]) == (
            [1, 2, 3, 4],
            4,
        )
        second = service.user.get(path, params={"after": 4}).json()
        assert [trial["number"] for trial in second["trials"]] == [5, 6]
        assert second["next_after"] is None
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop")


def test_the_same_key_creates_one_sweep(service: InProcess) -> None:
    headers = {"idempotency-key": f"sweep-{time.monotonic_ns()}"}
    first = service.user.post("/v1/sweeps", json=config(), headers=headers)
    again = service.user.post("/v1/sweeps", json=config(), headers=headers)
    assert first.json()["id"] == again.json()["id"]
    other = service.user.post("/v1/sweeps", json=config(seed=9), headers=headers)
    assert check_problem(other, 422)["code"] == "idempotency_key_reused"
    service.user.post(f"/v1/sweeps/{first.json()['id']}/stop")


def test_a_key_of_a_sweep_is_compared_without_defaults(service: InProcess) -> None:
    headers = {"idempotency-key": f"sweep-{time.monotonic_ns()}"}
    first = service.user.post("/v1/sweeps", json=config(), headers=headers).json()
    whole = service.user.post("/v1/jobs:validate", json=SPEC).json()["spec"]
    defaults = {"spec": whole, "method": "grid", "together": [], "priority": 0}
    again = service.user.post("/v1/sweeps", json=config(**defaults), headers=headers)
    assert again.json()["id"] == first["id"]
    assert "idempotency-compared" not in again.headers
    reordered = config(parameters=dict(reversed(GRID.items())))
    other = service.user.post("/v1/sweeps", json=reordered, headers=headers)
    assert check_problem(other, 422)["code"] == "idempotency_key_reused"

    of_another_version = {"fingerprint": "f" * 64, "fingerprint_rule": 0}
    with service.database.write() as transaction:
        this = update(tables.sweeps).where(tables.sweeps.c.id == first["id"])
        transaction.connection.execute(this.values(of_another_version))
    again = service.user.post("/v1/sweeps", json=config(), headers=headers)
    assert (again.status_code, again.json()["id"]) == (201, first["id"])
    assert again.headers["idempotency-compared"] == "false"
    service.user.post(f"/v1/sweeps/{first['id']}/stop")


def test_deleted_jobs_leave_their_results(service: InProcess) -> None:
    sweep = create(service, parameters={RATE: {"values": [0.1]}})
    run_all(service, sweep["id"], lambda spec: 0.5)
    (trial,) = trials_of(service, sweep["id"])
    assert service.user.delete(f"/v1/jobs/{trial['jobs'][0]['id']}").status_code == 204
    trial["jobs"][0]["deleted"] = True
    assert trials_of(service, sweep["id"]) == [trial]


def test_a_sweep_that_is_not_there(service: InProcess) -> None:
    for sweep_id in ("swp_000000000000000000000000", "nonsense"):
        assert check_problem(service.user.get(f"/v1/sweeps/{sweep_id}"), 404)
        assert check_problem(service.user.get(f"/v1/sweeps/{sweep_id}/trials"), 404)
        assert check_problem(service.user.post(f"/v1/sweeps/{sweep_id}/stop"), 404)


@pytest.mark.verify
@pytest.mark.alone
def test_a_thousand_trials_are_checked_within_a_second(service: InProcess) -> None:
    rates = [number / 100_000 for number in range(1, 101)]
    parameters = {RATE: {"values": rates}, NEURONS: {"values": list(range(1, 11))}}
    seconds = []
    for _ in range(3):  # of the processor, which other programs use, too
        before = time.process_time()
        sweep = create(service, parameters=parameters, parallel=1)
        seconds.append(time.process_time() - before)
        assert sweep["trials"] == 1000
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop")
    assert min(seconds) < 1.0


class TestRefused:
    def test_a_grid_of_a_billion_points_with_its_number(self, service: InProcess) -> None:
        layers = [{"neurons": 4}] * 9
        parameters = {
            f"/network/layers/{number}/neurons": {"values": list(range(1, 11))}
            for number in range(9)
        }
        spec = {**SPEC, "network": {"layers": layers}}
        before = time.process_time()
        ((pointer, detail),) = refused(service, spec=spec, parameters=parameters)
        assert pointer == "/parameters"
        assert "1,000,000,000" in detail
        assert time.process_time() - before < 10, "nobody enumerates them"

    @pytest.mark.parametrize(
        ("changes", "pointer"),
        [
            ({"parameters": {}}, "/parameters"),
            ({"parameters": {}, "seeds": [1]}, "/parameters"),
            ({"parameters": {"/version": {"values": [1]}}}, "/parameters/~1version"),
            ({"parameters": {"/metadata/x": {"values": ["a"]}}}, "/parameters/~1metadata~1x"),
            ({"parameters": {"neurons": {"values": [1]}}}, "/parameters/neurons"),
            ({"parameters": {"/nothing": {"values": [1]}}}, "/parameters/~1nothing"),
            (
                {"parameters": {"/network/layers/1/neurons": {"values": [1]}}},
                "/parameters/~1network~1layers~11~1neurons",
            ),
            (
                {"parameters": {NEURONS: {"values": [4, 0]}}},
                "/parameters/~1network~1layers~10~1neurons",
            ),
            (
                {"parameters": {NEURONS: {"values": [4, 4.0]}}},
                "/parameters/~1network~1layers~10~1neurons/values/1",
            ),
            (
                {"parameters": {NEURONS: {"values": []}}},
                "/parameters/~1network~1layers~10~1neurons/values",
            ),
            ({"parameters": {"/seed": {"values": [1]}}, "seeds": [1, 2]}, "/parameters/~1seed"),
            (
                {"parameters": {"/network": {"values": [{}]}, NEURONS: {"values": [1]}}},
                "/parameters/~1network~1layers~10~1neurons",
            ),
            (
                {"parameters": {NEURONS: {"values": [1], "uniform": [0, 1]}}},
                "/parameters/~1network~1layers~10~1neurons",
            ),
            (
                {"parameters": {RATE: {"uniform": [0.1, 0.2]}}},
                "/parameters/~1training~1optimizer~1learning_rate",
            ),
            (
                {"method": "random", "trials": 2, "parameters": {RATE: {"log_uniform": [0, 1]}}},
                "/parameters/~1training~1optimizer~1learning_rate/log_uniform/0",
            ),
            (
                {"method": "random", "trials": 2, "parameters": {RATE: {"uniform": [1, 1]}}},
                "/parameters/~1training~1optimizer~1learning_rate/uniform",
            ),
            (
                {"method": "random", "trials": 2, "parameters": {RATE: {"uniform": [2, 1]}}},
                "/parameters/~1training~1optimizer~1learning_rate/uniform",
            ),
            ({"method": "random", "parameters": {RATE: {"uniform": [1, 2]}}}, "/trials"),
            ({"method": "guess"}, "/method"),
            ({"trials": 0}, "/trials"),
            ({"trials": 7}, "/trials"),
            ({"trials": 2, "parallel": 3}, "/parallel"),
            ({"parallel": 0}, "/parallel"),
            ({"seeds": [1, 1]}, "/seeds/1"),
            ({"seeds": [-1]}, "/seeds/0"),
            ({"objective": {"metric": ""}}, "/objective/metric"),
            ({"objective": {"at": "first"}}, "/objective/at"),
            ({"limits": {"device_hours": 0}}, "/limits/device_hours"),
            ({"spec": {**SPEC, "nothing": 1}}, "/spec/nothing"),
            ({"spec": []}, "/spec"),
            ({"sweep": ""}, "/sweep"),
            ({"sweep": "a\u0000b"}, "/sweep"),
            ({"nothing": 1}, "/nothing"),
        ],
    )
    def test_with_the_place(
        self, service: InProcess, changes: dict[str, Any], pointer: str
    ) -> None:
        assert pointer in {place for place, _ in refused(service, **changes)}

    def test_a_number_that_is_none(self, service: InProcess) -> None:
        text = b'{"sweep": "a", "spec": {}, "parameters": {"/x": {"uniform": [0, NaN]}}}'
        headers = {"content-type": "application/json"}
        response = service.user.post("/v1/sweeps", content=text, headers=headers)
        assert check_problem(response, 400)

"""Sweeps that get more values and seeds after their start, and their deletion."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ipulse_service.sweeps import progress, store
from tests.service import pushed_ops
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess
from tests.service.sweeps.sweeping import (
    GRID,
    NEURONS,
    RATE,
    begun,
    create,
    run_all,
    succeed,
    sweep_of,
    trials_of,
)


def extend(service: InProcess, sweep: dict[str, Any], **changes: Any) -> dict[str, Any]:
    response = service.user.patch(f"/v1/sweeps/{sweep['id']}", json=changes)
    assert response.status_code == 200, response.text
    changed: dict[str, Any] = response.json()
    return changed


def points(service: InProcess, sweep: dict[str, Any]) -> list[tuple[float, int]]:
    trials = trials_of(service, sweep["id"])
    return [(trial["parameters"][RATE], trial["parameters"][NEURONS]) for trial in trials]


def rate(spec: dict[str, Any]) -> float:
    learned: float = spec["training"]["optimizer"]["learning_rate"]
    return learned


class TestMoreValues:
    @pytest.mark.parametrize("shuffle", [False, True])
    def test_their_points_come_last(self, service: InProcess, shuffle: bool) -> None:
        sweep = create(service, shuffle=shuffle)
        run_all(service, sweep["id"], rate)
        before = points(service, sweep)
        grown = extend(service, sweep, values={RATE: [0.3], NEURONS: [16]}, parallel=8)
        assert (grown["state"], grown["trials"]) == ("running", 12)
        run_all(service, sweep["id"], rate)
        after = points(service, sweep)
        assert after[:6] == before
        assert set(after[6:8]) == {(0.3, 4), (0.3, 8)}
        assert set(after[8:]) == {(each, 16) for each in (0.1, 0.01, 0.001, 0.3)}
        ended = sweep_of(service, sweep["id"])
        assert (ended["reason"], ended["by_state"]) == ("completed", {"succeeded": 12})
        assert ended["best"]["parameters"][RATE] == 0.3
        assert ended["config"]["parameters"][RATE]["values"] == [0.1, 0.01, 0.001, 0.3]
        for trial in trials_of(service, sweep["id"]):
            assert rate(service.job(trial["jobs"][0]["id"])["spec"]) == trial["parameters"][RATE]

    def test_while_it_runs(self, service: InProcess) -> None:
        sweep = create(service, parallel=1)
        begun(service, sweep["id"], 1)
        for value in (16, 32):
            extend(service, sweep, values={NEURONS: [value]})
        run_all(service, sweep["id"], rate)
        assert len(set(points(service, sweep))) == 12

    @pytest.mark.parametrize(
        ("changes", "pointer"),
        [
            ({"values": {RATE: [0.1]}}, f"/values/{RATE.replace('/', '~1')}/0"),
            ({"values": {RATE: [0.5, -1.0]}}, f"/values/{RATE.replace('/', '~1')}"),
            ({"values": {"/seed": [1]}}, "/values/~1seed"),
            ({"values": {RATE: []}}, f"/values/{RATE.replace('/', '~1')}"),
            ({"values": {RATE: [(n + 0.5) / 1e5 for n in range(5000)]}}, "/values"),
            ({"values": {RATE: [0.2]}, "trials": 9}, "/trials"),  # of 8 points
            ({"values": {RATE: [0.2]}, "trials": 0}, "/trials"),
            ({"seeds": [4, 4]}, "/seeds/1"),
            ({"seeds": [-1]}, "/seeds/0"),
            ({"seeds": [0]}, "/seeds/0"),  # that of the spec
        ],
    )
    def test_what_does_not_fit_changes_nothing(
        self, service: InProcess, changes: dict[str, Any], pointer: str
    ) -> None:
        sweep = create(service, parallel=1)
        before = sweep_of(service, sweep["id"])["config"]
        path = f"/v1/sweeps/{sweep['id']}"
        problem = check_problem(service.user.patch(path, json=changes), 422)
        assert problem["errors"][0]["pointer"] == pointer, problem
        assert sweep_of(service, sweep["id"])["config"] == before
        service.user.post(f"{path}/stop?running=cancel")

    def test_only_of_a_grid_and_all_of_it(self, service: InProcess) -> None:
        drawn = create(service, method="random", trials=1)
        part = create(service, trials=2, parallel=1)
        for sweep in (drawn, part):
            path = f"/v1/sweeps/{sweep['id']}"
            assert check_problem(service.user.patch(path, json={"values": {RATE: [0.2]}}), 422)
            service.user.post(f"{path}/stop?running=cancel")
            stopping = service.user.patch(path, json={"seeds": [7]})
            assert stopping.status_code in (200, 409)
            service.user.post(f"{path}/stop?running=cancel")

    def test_a_definition_cannot_begin_so(self, service: InProcess) -> None:
        body = {"added": [{"parameter": RATE, "count": 1}]}
        definition = {"sweep": "x", "spec": service.job(service.submit()["id"])["spec"]}
        response = service.user.post("/v1/sweeps", json={**definition, "parameters": GRID, **body})
        assert check_problem(response, 422)["errors"][0]["pointer"] == "/added"


class TestMoreSeeds:
    def test_ended_trials_get_them(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1, 0.01]}}, parallel=1)
        run_all(service, sweep["id"], rate)
        assert extend(service, sweep, seeds=[8, 9])["state"] == "running"
        begun(service, sweep["id"], 2)
        run_all(service, sweep["id"], lambda spec: rate(spec) + spec["seed"] / 100)
        trials = trials_of(service, sweep["id"])
        assert [[job["seed"] for job in trial["jobs"]] for trial in trials] == 2 * [[0, 8, 9]]
        assert trials[0]["value"] == pytest.approx((0.1 + 0.18 + 0.19) / 3)
        assert [trial["n"] for trial in trials] == [3, 3]
        assert sweep_of(service, sweep["id"])["best"]["number"] == 1

    def test_no_more_than_parallel_trials_run(self, service: InProcess) -> None:
        sweep = create(service, parallel=2)
        run_all(service, sweep["id"], rate)
        extend(service, sweep, seeds=[8])

        def queued() -> int:
            trials = trials_of(service, sweep["id"])
            return sum(job["state"] == "queued" for trial in trials for job in trial["jobs"])

        eventually(lambda: queued() >= 2)
        service.state.sweep_controller.advance()
        assert queued() == 2
        run_all(service, sweep["id"], rate)

    def test_running_and_later_trials_get_them(self, service: InProcess) -> None:
        sweep = create(service, parallel=1)
        [first] = begun(service, sweep["id"], 1)
        extend(service, sweep, seeds=[8])
        succeed(service.attempt(first["jobs"][0]["id"]), 0.5)
        run_all(service, sweep["id"], rate)
        trials = trials_of(service, sweep["id"])
        assert {trial["n"] for trial in trials} == {2}

    def test_failed_trials_do_not(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1, 0.01]}}, parallel=1)
        [first] = begun(service, sweep["id"], 1)
        service.attempt(first["jobs"][0]["id"]).finish("diverged")
        run_all(service, sweep["id"], rate)
        extend(service, sweep, seeds=[8])
        run_all(service, sweep["id"], rate)
        trials = trials_of(service, sweep["id"])
        assert [len(trial["jobs"]) for trial in trials] == [1, 2]
        assert [trial["state"] for trial in trials] == ["failed", "succeeded"]

    def test_a_sweep_that_is_stopped_ends_without_them(self, service: InProcess) -> None:
        sweep = create(service, parallel=1)
        run_all(service, sweep["id"], rate)
        extend(service, sweep, seeds=[8])
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop?running=cancel")
        run_all(service, sweep["id"], rate)
        ended = sweep_of(service, sweep["id"])
        assert (ended["state"], ended["reason"]) == ("ended", "stopped_by_user")
        assert ended["by_state"] == {"succeeded": 6}

    def test_trials_whose_op_was_deleted_end_without_them(self, service: InProcess) -> None:
        """Until then nothing is due, so that the controller leaves the sweep alone."""
        content = pushed_ops.package(note="deleted while its trial runs")
        with pushed_ops.coding(service) as coder:
            pushed_ops.pushed(coder, content)
            definition = pushed_ops.sweep_of(
                pushed_ops.spec(content), parameters={RATE: {"values": [0.1]}}, seeds=[1]
            )
            sweep = coder.post("/v1/sweeps", json=definition).json()
            [trial] = begun(service, sweep["id"], 1)
            coder.post(f"/v1/sweeps/{sweep['id']}/pause")
            assert coder.patch(f"/v1/sweeps/{sweep['id']}", json={"seeds": [2]}).is_success
            digest = hashlib.sha256(content).hexdigest()
            assert coder.delete(f"/v1/ops/{digest}").status_code == 204
            coder.post(f"/v1/sweeps/{sweep['id']}/resume")
        assert sweep_of(service, sweep["id"])["state"] == "running"
        with service.database.read() as transaction:
            assert not any(progress.is_due(transaction, pk) for pk in store.open_pks(transaction))
        service.user.post(f"/v1/jobs/{trial['jobs'][0]['id']}/cancel")
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        [trial] = trials_of(service, sweep["id"])
        assert (trial["state"], len(trial["jobs"])) == ("cancelled", 1)
        assert "/network/layers/1/op" in trial["message"]


class TestDeletion:
    def test_its_jobs_stay(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, seeds=[1, 2])
        path = f"/v1/sweeps/{sweep['id']}"
        assert check_problem(service.user.delete(path), 409)["code"] == "not_over"
        run_all(service, sweep["id"], rate)
        jobs = [job["id"] for job in trials_of(service, sweep["id"])[0]["jobs"]]
        assert check_problem(service.user.delete(path, headers={"if-match": '"0-0"'}), 412)
        assert service.user.delete(path).status_code == 204
        check_problem(service.user.get(path), 404)
        check_problem(service.user.delete(path), 404)
        listed = service.user.get("/v1/jobs", params={"q": f"sweep:{sweep['id']}"}).json()["jobs"]
        assert {job["id"] for job in listed} == set(jobs)
        deleted = service.user.post("/v1/jobs:delete", params={"q": f"group:{sweep['id']}"})
        assert deleted.json()["changed"] == 2

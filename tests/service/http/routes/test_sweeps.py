"""Sweeps over HTTP: created, begun, counted, paused, stopped and extended."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

RATE = "/training/optimizer/learning_rate"
NEURONS = "/network/layers/0/neurons"
GRID = {RATE: {"values": [0.1, 0.01, 0.001]}, NEURONS: {"values": [4, 8]}}


def config(**changes: Any) -> dict[str, Any]:
    return {"sweep": "rates", "spec": SPEC, "parameters": GRID, **changes}


def create(service: InProcess, **changes: Any) -> dict[str, Any]:
    response = service.user.post("/v1/sweeps", json=config(**changes))
    assert response.status_code == 201, response.text
    sweep: dict[str, Any] = response.json()
    return sweep


def refused(service: InProcess, **changes: Any) -> list[tuple[str, str]]:
    """Pointer and detail of each problem."""
    response = service.user.post("/v1/sweeps", json=config(**changes))
    problem = check_problem(response, 422)
    return [(error["pointer"], error["detail"]) for error in problem["errors"]]


def sweep_of(service: InProcess, sweep_id: str) -> dict[str, Any]:
    response = service.user.get(f"/v1/sweeps/{sweep_id}")
    assert response.status_code == 200, response.text
    sweep: dict[str, Any] = response.json()
    return sweep


def trials_of(service: InProcess, sweep_id: str) -> list[dict[str, Any]]:
    response = service.user.get(f"/v1/sweeps/{sweep_id}/trials")
    assert response.status_code == 200, response.text
    trials: list[dict[str, Any]] = response.json()["trials"]
    return trials


def begun(service: InProcess, sweep_id: str, count: int) -> list[dict[str, Any]]:
    """The trials, once so many have begun."""
    eventually(lambda: len(trials_of(service, sweep_id)) >= count)
    return trials_of(service, sweep_id)


def succeed(attempt: Attempt, accuracy: float, epochs: tuple[float, ...] = ()) -> None:
    events = [phase(name) for name in ("prepare", "compile", "acquire", "run")]
    for number, value in enumerate(epochs, 1):
        metric = {"kind": "metric", "epoch": number, "epochs": len(epochs), "step": number}
        values = {"test_accuracy": value}
        events.append({**metric, "steps": len(epochs), "scope": "epoch", "values": values})
    assert attempt.report(*events, phase("report")).status_code == 200
    assert attempt.put("manifest.json", "manifest").status_code == 201
    assert attempt.finish("completed", "", test_accuracy=accuracy).status_code == 200


def run_all(service: InProcess, sweep_id: str, accuracy: Callable[[dict[str, Any]], float]) -> None:
    """An agent that does every job of a sweep until it ends."""
    while sweep_of(service, sweep_id)["state"] != "ended":
        for trial in trials_of(service, sweep_id):
            for job in trial["jobs"]:
                if job["state"] == "queued":
                    succeed(service.attempt(job["id"]), accuracy(service.job(job["id"])["spec"]))
        time.sleep(0.01)


class TestAGrid:
    def test_every_point_becomes_a_trial_once(self, service: InProcess) -> None:
        sweep = create(service, parallel=2)
        assert (sweep["trials"], sweep["parallel"], sweep["state"]) == (6, 2, "running")
        assert sweep["parameters"] == [RATE, NEURONS]

        def accuracy(spec: dict[str, Any]) -> float:
            rate = spec["training"]["optimizer"]["learning_rate"]
            return 0.5 + rate + spec["network"]["layers"][0]["neurons"] / 1000

        run_all(service, sweep["id"], accuracy)
        ended = sweep_of(service, sweep["id"])
        assert (ended["reason"], ended["by_state"]) == ("completed", {"succeeded": 6})
        assert ended["jobs_by_state"] == {"succeeded": 6}
        trials = trials_of(service, sweep["id"])
        points = [(trial["parameters"][RATE], trial["parameters"][NEURONS]) for trial in trials]
        assert points == list(itertools.product([0.1, 0.01, 0.001], [4, 8]))
        assert ended["best"]["number"] == 2, "0.1 with 8 neurons"
        assert ended["best"]["value"] == pytest.approx(0.608)
        for trial in trials:
            spec = service.job(trial["jobs"][0]["id"])["spec"]
            assert spec["training"]["optimizer"]["learning_rate"] == trial["parameters"][RATE]

    def test_no_more_than_parallel_trials_have_begun(self, service: InProcess) -> None:
        sweep = create(service, parallel=2)
        trials = begun(service, sweep["id"], 2)
        service.state.sweep_controller.advance()
        assert len(trials_of(service, sweep["id"])) == 2
        succeed(service.attempt(trials[0]["jobs"][0]["id"]), 0.9)
        assert [trial["number"] for trial in begun(service, sweep["id"], 3)] == [1, 2, 3]
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop", params={"running": "cancel"})

    def test_its_jobs_are_a_group_with_tags(self, service: InProcess) -> None:
        sweep = create(service, parallel=1)
        (trial,) = begun(service, sweep["id"], 1)
        job = service.job(trial["jobs"][0]["id"])
        assert (job["group"], job["tags"]) == (sweep["id"], ["trial-1"])
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop")

    def test_shuffled_by_its_seed(self, service: InProcess) -> None:
        many = {RATE: {"values": [number / 1000 for number in range(1, 30)]}}
        orders = []
        for seed in (1, 1, 2):
            sweep = create(service, parameters=many, shuffle=True, seed=seed, parallel=29)
            trials = begun(service, sweep["id"], 29)
            orders.append([trial["parameters"][RATE] for trial in trials])
            service.user.post(f"/v1/sweeps/{sweep['id']}/stop")
        assert orders[0] == orders[1] != orders[2]
        assert sorted(orders[2]) == many[RATE]["values"]

    def test_settings_that_change_together(self, service: InProcess) -> None:
        pairs = [[0.1, 4], [0.01, 8]]
        together = [{"parameters": [RATE, NEURONS], "values": pairs}]
        sweep = create(service, parameters={}, together=together)
        trials = begun(service, sweep["id"], 2)
        assert [[t["parameters"][RATE], t["parameters"][NEURONS]] for t in trials] == pairs
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop")


class TestSeeds:
    def test_replicas_differ_in_their_seed_only(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, seeds=[1, 2, 3])
        (trial,) = begun(service, sweep["id"], 1)
        specs = [service.job(job["id"])["spec"] for job in trial["jobs"]]
        assert [spec.pop("seed") for spec in specs] == [1, 2, 3]
        assert specs[0] == specs[1] == specs[2]
        by_seed = {1: 94.1, 2: 94.6, 3: 95.2}
        run_all(service, sweep["id"], lambda spec: by_seed[spec["seed"]])
        (trial,) = trials_of(service, sweep["id"])
        assert (trial["n"], trial["minimum"], trial["maximum"]) == (3, 94.1, 95.2)
        assert trial["value"] == pytest.approx(94.63, abs=0.005)
        assert trial["deviation"] == pytest.approx(0.55, abs=0.005)
        assert trial["interval"] == pytest.approx(1.37, abs=0.005)

    def test_a_failed_replica_is_named(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, seeds=[5, 6])
        (trial,) = begun(service, sweep["id"], 1)
        first, second = (job["id"] for job in trial["jobs"])
        service.attempt(first).finish("diverged", "the loss is NaN")
        succeed(service.attempt(second), 0.75)
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        (trial,) = trials_of(service, sweep["id"])
        assert (trial["state"], trial["n"], trial["value"]) == ("succeeded", 1, 0.75)
        assert trial["deviation"] is None
        assert "seed 5" in trial["message"]
        assert "diverged" in trial["message"]
        assert first in trial["message"]


class TestTheObjective:
    @pytest.mark.parametrize(
        ("at", "goal", "expected"),
        [
            ("last", "maximize", 0.6),
            ("best", "maximize", 0.9),
            ("best", "minimize", 0.1),
            ("epoch 3", "maximize", 0.5),
        ],
    )
    def test_at(self, service: InProcess, at: Any, goal: str, expected: float) -> None:
        objective = {"metric": "test_accuracy", "at": at, "goal": goal}
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, objective=objective)
        (trial,) = begun(service, sweep["id"], 1)
        succeed(service.attempt(trial["jobs"][0]["id"]), 0.6, epochs=(0.1, 0.9, 0.5))
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        assert sweep_of(service, sweep["id"])["best"]["value"] == expected

    def test_a_metric_that_never_comes_fails_the_trial(self, service: InProcess) -> None:
        objective = {"metric": "no_such_metric"}
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, objective=objective)
        (trial,) = begun(service, sweep["id"], 1)
        succeed(service.attempt(trial["jobs"][0]["id"]), 0.6, epochs=(0.1,))
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        (trial,) = trials_of(service, sweep["id"])
        assert trial["state"] == "failed"
        assert "no_such_metric" in trial["message"]
        assert sweep_of(service, sweep["id"])["best"] is None


class TestRandom:
    DRAWN: ClassVar[dict[str, Any]] = {
        RATE: {"log_uniform": [0.0001, 0.1]},
        NEURONS: {"int_uniform": [8, 64], "step": 8},
        "/network/readout/decay": {"uniform": [0.9, 0.99]},
    }

    def test_the_same_seed_gives_the_same_trials(self, service: InProcess) -> None:
        drawn = []
        for seed in (7, 7, 8):
            sweep = create(
                service, method="random", parameters=self.DRAWN, trials=5, parallel=5, seed=seed
            )
            trials = begun(service, sweep["id"], 5)
            drawn.append([trial["parameters"] for trial in trials])
            service.user.post(f"/v1/sweeps/{sweep['id']}/stop")
        assert drawn[0] == drawn[1] != drawn[2]
        for point in drawn[0]:
            assert 0.0001 <= point[RATE] <= 0.1
            assert point[NEURONS] in range(8, 65, 8)

    def test_ten_trials_that_do_not_fit_stop_it(self, service: InProcess) -> None:
        """The first proposal is checked at once; of later ones each is a failed trial."""
        parameters = {"/training/epochs": {"normal": [-50.0, 0.1]}}
        problems = refused(service, method="random", parameters=parameters, trials=50)
        assert {pointer for pointer, _ in problems} == {"/parameters/~1training~1epochs"}
        # 1 fits in the first trial of this seed, and 0 does not.
        parameters = {NEURONS: {"values": [4, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11]}}
        for seed in range(1000):
            body = config(
                method="random", parameters=parameters, trials=2000, seed=seed, parallel=1
            )
            response = service.user.post("/v1/sweeps", json=body)
            if response.status_code == 201:
                break
        sweep_id = response.json()["id"]
        run_all(service, sweep_id, lambda spec: 0.5)
        ended = sweep_of(service, sweep_id)
        assert ended["reason"] == "trials_failed"
        states = [trial["state"] for trial in trials_of(service, sweep_id)]
        assert states[-10:] == ["failed"] * 10
        assert "succeeded" in states


class TestStopping:
    """Weak trials are asked to finish with their results, by the values of their first seed."""

    ASHA: ClassVar[dict[str, Any]] = {"kind": "asha", "min_epochs": 1, "factor": 3}

    def epoch(self, attempt: Attempt, number: int, accuracy: float) -> bool:
        """Report an epoch; return whether the attempt continues."""
        metric = {"kind": "metric", "epoch": number, "epochs": 3, "step": number, "steps": 3}
        values = {"test_accuracy": accuracy}
        assert attempt.report({**metric, "scope": "epoch", "values": values}).status_code == 200
        return not attempt.heartbeat().json()["finish"]

    def test_a_weak_trial_is_stopped_and_keeps_its_results(self, service: InProcess) -> None:
        sweep = create(
            service, parameters={RATE: {"values": [0.1, 0.01]}}, seeds=[1, 2], stopping=self.ASHA
        )
        strong, weak = begun(service, sweep["id"], 2)
        assert [len(trial["jobs"]) for trial in (strong, weak)] == [1, 1], "the first seed alone"
        attempts = [service.attempt(trial["jobs"][0]["id"]) for trial in (strong, weak)]
        for attempt in attempts:
            for name in ("prepare", "compile", "acquire", "run"):
                attempt.report(phase(name))
        assert self.epoch(attempts[0], 1, 0.9)
        assert not self.epoch(attempts[1], 1, 0.2)
        attempts[1].report(phase("report"))
        attempts[1].put("manifest.json", "manifest")
        ended = attempts[1].finish("finished_early", "", test_accuracy=0.2, epochs_done=1.0).json()
        assert (ended["state"], ended["reason"]) == ("succeeded", "pruned")
        again = attempts[1].finish("finished_early", "", test_accuracy=0.2, epochs_done=1.0)
        assert again.status_code == 200, "a repetition changes nothing"
        assert self.epoch(attempts[0], 2, 0.8)
        assert self.epoch(attempts[0], 3, 0.8), "the first at its rung"
        attempts[0].report(phase("report"))
        attempts[0].put("manifest.json", "manifest")
        attempts[0].finish("completed", "", test_accuracy=0.8)

        def seeds_of_the_strong() -> list[int]:
            return [job["seed"] for job in trials_of(service, sweep["id"])[0]["jobs"]]

        eventually(lambda: seeds_of_the_strong() == [1, 2])
        second = trials_of(service, sweep["id"])[0]["jobs"][1]["id"]
        attempt = service.attempt(second)
        for name in ("prepare", "compile", "acquire", "run"):
            attempt.report(phase(name))
        assert self.epoch(attempt, 1, 0.1), "later seeds are never stopped early"
        attempt.report(phase("report"))
        attempt.put("manifest.json", "manifest")
        attempt.finish("completed", "", test_accuracy=0.6)
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        strong, weak = trials_of(service, sweep["id"])
        assert (strong["state"], strong["n"], strong["value"]) == (
            "succeeded",
            2,
            pytest.approx(0.7),
        )
        assert (weak["state"], weak["n"], weak["value"]) == ("pruned", 1, 0.2)
        more = service.user.patch(f"/v1/sweeps/{sweep['id']}", json={"seeds": [3]})
        assert more.json()["state"] == "running"
        eventually(lambda: seeds_of_the_strong() == [1, 2, 3])
        third = trials_of(service, sweep["id"])[0]["jobs"][2]["id"]
        succeed(service.attempt(third), 0.7)
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        strong, weak = trials_of(service, sweep["id"])
        assert (strong["n"], len(weak["jobs"]), weak["state"]) == (3, 1, "pruned")
        assert sweep_of(service, sweep["id"])["best"]["number"] == 1

    def test_an_epoch_that_a_lost_attempt_repeats_is_decided_once(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, stopping=self.ASHA)
        (trial,) = begun(service, sweep["id"], 1)
        job_id = trial["jobs"][0]["id"]
        first = service.attempt(job_id)
        assert self.epoch(first, 1, 0.9)
        first.finish("worker_stopped")
        second = service.attempt(job_id)
        assert self.epoch(second, 1, 0.1)
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop", params={"running": "cancel"})

    @pytest.mark.parametrize(
        ("stopping", "pointer"),
        [
            ({"kind": "asha", "factor": 1}, "/stopping/factor"),
            ({"kind": "median", "startup_trials": 0}, "/stopping/startup_trials"),
            ({"kind": "luck"}, "/stopping/kind"),
            ({"kind": "median", "factor": 3}, "/stopping/factor"),
        ],
    )
    def test_a_wrong_rule_is_refused(
        self, service: InProcess, stopping: dict[str, Any], pointer: str
    ) -> None:
        assert pointer in {place for place, _ in refused(service, stopping=stopping)}


class TestTpe:
    def test_proposals_follow_the_trials(self, service: InProcess) -> None:
        """Ten trials are drawn; what comes then depends on how good they were."""
        drawn = {RATE: {"log_uniform": [0.0001, 0.1]}, NEURONS: {"values": [4, 8]}}
        found = []
        for sign in (1, -1):
            sweep = create(service, method="tpe", parameters=drawn, trials=13, parallel=1, seed=7)

            def accuracy(spec: dict[str, Any], sign: int = sign) -> float:
                return sign * float(spec["training"]["optimizer"]["learning_rate"])

            run_all(service, sweep["id"], accuracy)
            assert sweep_of(service, sweep["id"])["by_state"] == {"succeeded": 13}
            found.append([trial["parameters"] for trial in trials_of(service, sweep["id"])])
        large, small = found
        assert large[:10] == small[:10]
        assert large[10:] != small[10:]


class TestLimits:
    def test_a_target(self, service: InProcess) -> None:
        sweep = create(service, parallel=1, limits={"target": 0.9})
        accuracies = iter([0.5, 0.95, 0.99])
        run_all(service, sweep["id"], lambda spec: next(accuracies))
        ended = sweep_of(service, sweep["id"])
        assert (ended["reason"], ended["begun"]) == ("target_reached", 2)

    def test_the_time_of_agents(self, service: InProcess) -> None:
        sweep = create(service, parallel=1, limits={"device_hours": 1e-9})
        run_all(service, sweep["id"], lambda spec: 0.5)
        ended = sweep_of(service, sweep["id"])
        assert (ended["reason"], ended["begun"]) == ("device_limit", 1)
        assert ended["device_seconds"] > 0


class TestChanges:
    def test_a_paused_one_begins_nothing(self, service: InProcess) -> None:
        sweep = create(service, parallel=1)
        (trial,) = begun(service, sweep["id"], 1)
        path = f"/v1/sweeps/{sweep['id']}"
        assert service.user.post(f"{path}/pause").json()["state"] == "paused"
        assert service.user.post(f"{path}/pause").json()["state"] == "paused"
        succeed(service.attempt(trial["jobs"][0]["id"]), 0.9)
        eventually(lambda: trials_of(service, sweep["id"])[0]["state"] == "succeeded")
        service.state.sweep_controller.advance()
        assert sweep_of(service, sweep["id"])["begun"] == 1
        assert service.user.post(f"{path}/resume").json()["state"] == "running"
        begun(service, sweep["id"], 2)
        service.user.post(f"{path}/stop")

    @pytest.mark.parametrize("running", ["keep", "finish", "cancel"])
    def test_a_stopped_one(self, service: InProcess, running: str) -> None:
        sweep = create(service, parallel=2)
        first, second = (trial["jobs"][0]["id"] for trial in begun(service, sweep["id"], 2))
        attempt = service.attempt(first)
        for name in ("prepare", "compile", "acquire", "run"):
            attempt.report(phase(name))
        path = f"/v1/sweeps/{sweep['id']}"
        assert service.user.post(f"{path}/stop?running={running}").json()["state"] == "stopping"
        assert service.job(second)["state"] == "cancelled", "it had not begun"
        orders = attempt.heartbeat().json()
        assert (orders["cancel"], orders["finish"]) == (running == "cancel", running == "finish")
        if running == "cancel":
            attempt.finish("cancelled_by_user")
        else:
            attempt.report(phase("report"))
            attempt.put("manifest.json", "manifest")
            attempt.finish("completed", "", test_accuracy=0.5)
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        ended = sweep_of(service, sweep["id"])
        expected = {"cancelled": 2} if running == "cancel" else {"cancelled": 1, "succeeded": 1}
        assert (ended["reason"], ended["by_state"]) == ("stopped_by_user", expected)
        assert service.user.post(f"{path}/stop").json()["version"] == ended["version"]
        assert check_problem(service.user.post(f"{path}/pause"), 409)
        assert check_problem(service.user.post(f"{path}/resume"), 409)

    def test_an_ended_one_can_be_extended(self, service: InProcess) -> None:
        sweep = create(service, trials=2, parallel=2)
        run_all(service, sweep["id"], lambda spec: 0.5)
        path = f"/v1/sweeps/{sweep['id']}"
        assert check_problem(service.user.patch(path, json={"trials": 1}), 422)
        assert check_problem(service.user.patch(path, json={"trials": 7}), 422)
        changed = service.user.patch(path, json={"trials": 3, "parallel": 1}).json()
        assert (changed["state"], changed["trials"], changed["parallel"]) == ("running", 3, 1)
        run_all(service, sweep["id"], lambda spec: 0.5)
        assert sweep_of(service, sweep["id"])["begun"] == 3

    def test_only_if_it_has_not_changed(self, service: InProcess) -> None:
        sweep = create(service, parallel=1)
        begun(service, sweep["id"], 1)
        path, headers = f"/v1/sweeps/{sweep['id']}", {"if-match": '"0-0"'}
        assert check_problem(service.user.post(f"{path}/pause", headers=headers), 412)
        service.user.post(f"{path}/stop")


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


def test_deleted_jobs_leave_their_results(service: InProcess) -> None:
    sweep = create(service, parameters={RATE: {"values": [0.1]}})
    run_all(service, sweep["id"], lambda spec: 0.5)
    (trial,) = trials_of(service, sweep["id"])
    assert service.user.delete(f"/v1/jobs/{trial['jobs'][0]['id']}").status_code == 204
    assert trials_of(service, sweep["id"]) == [trial]


def test_a_sweep_that_is_not_there(service: InProcess) -> None:
    for sweep_id in ("swp_000000000000000000000000", "nonsense"):
        assert check_problem(service.user.get(f"/v1/sweeps/{sweep_id}"), 404)
        assert check_problem(service.user.get(f"/v1/sweeps/{sweep_id}/trials"), 404)
        assert check_problem(service.user.post(f"/v1/sweeps/{sweep_id}/stop"), 404)


@pytest.mark.verify
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

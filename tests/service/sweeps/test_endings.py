"""Trials that are stopped early, and sweeps that stop at a limit or by their user."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from sqlalchemy import update

from ipulse_service.db import tables
from tests.service.agents import Attempt, phase
from tests.service.conditions import eventually
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess
from tests.service.sweeps.sweeping import (
    RATE,
    begun,
    create,
    refused,
    run_all,
    succeed,
    sweep_of,
    trials_of,
)

pytestmark = pytest.mark.postgresql


class TestStopping:
    """Weak trials are asked to finish with their results, by the values of their first seed."""

    ASHA: ClassVar[dict[str, Any]] = {"kind": "asha", "min_epochs": 1, "factor": 3}

    def epoch(self, attempt: Attempt, number: int, accuracy: float) -> bool:
        """Report an epoch; return whether the attempt continues."""
        metric = {"kind": "metric", "epoch": number, "epochs": 3, "step": number, "steps": 3}
        values = {"test_accuracy": accuracy}
        assert attempt.report({**metric, "scope": "epoch", "values": values}).status_code == 200
        return not attempt.heartbeat().json()["finish"]

    def test_a_trial_is_judged_at_its_newest_rung(self, service: InProcess) -> None:
        """An agent that was cut off reports several epochs at once, of which the last one leads."""
        sweep = create(
            service, parameters={RATE: {"values": [0.1, 0.01]}}, seeds=[1, 2], stopping=self.ASHA
        )
        trials = begun(service, sweep["id"], 2)
        early, late = [service.attempt(trial["jobs"][0]["id"]) for trial in trials]
        for attempt, values in ((early, [0.5, 0.5, 0.5, 0.5]), (late, [0.2, 0.4, 0.9, 0.9])):
            for name in ("prepare", "compile", "acquire", "run"):
                attempt.report(phase(name))
            metrics = [
                {"kind": "metric", "scope": "epoch", "epoch": number, "epochs": 9, "step": number}
                | {"steps": 9, "values": {"test_accuracy": value}}
                for number, value in enumerate(values, start=1)
            ]
            assert attempt.report(*metrics).status_code == 200
            assert not attempt.heartbeat().json()["finish"]

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
        ended = attempts[1].finish("finished_early", "", test_accuracy=0.99, epochs_done=1.0).json()
        assert (ended["state"], ended["reason"]) == ("succeeded", "pruned")
        again = attempts[1].finish("finished_early", "", test_accuracy=0.99, epochs_done=1.0)
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
        assert (weak["state"], weak["n"], weak["value"]) == ("pruned", 1, 0.99)
        more = service.user.patch(f"/v1/sweeps/{sweep['id']}", json={"seeds": [3]})
        assert more.json()["state"] == "running"
        eventually(lambda: seeds_of_the_strong() == [1, 2, 3])
        third = trials_of(service, sweep["id"])[0]["jobs"][2]["id"]
        succeed(service.attempt(third), 0.7)
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        strong, weak = trials_of(service, sweep["id"])
        assert (strong["n"], len(weak["jobs"]), weak["state"]) == (3, 1, "pruned")
        ended = sweep_of(service, sweep["id"])
        assert ended["best"]["number"] == 1, "one that was stopped early is not compared"
        assert ended["by_state"]["pruned"] == 1

    def test_n18_each_rung_keeps_the_part_that_its_rule_says(self, service: InProcess) -> None:
        """A third of those that have come so far goes on; the order is that of their reports."""
        rates = [number / 100 for number in range(1, 10)]
        sweep = create(
            service, parameters={RATE: {"values": rates}}, parallel=9, stopping=self.ASHA
        )
        trials = begun(service, sweep["id"], 9)
        running = [service.attempt(trial["jobs"][0]["id"]) for trial in trials]
        for attempt in running:
            attempt.report(*map(phase, ("prepare", "compile", "acquire", "run")))
        accuracies = [0.5, 0.7, 0.4, 0.7, 0.3, 0.9, 0.6, 0.95, 0.2]
        for rung in (1, 3):
            seen: list[float] = []
            kept = []
            for attempt, accuracy in zip(running, accuracies, strict=False):
                seen.append(accuracy)
                best = sorted(seen, reverse=True)[: max(1, len(seen) // 3)]
                metric = {"kind": "metric", "scope": "epoch", "epoch": rung, "epochs": 9}
                values = {"step": rung, "steps": 9, "values": {"test_accuracy": accuracy}}
                assert attempt.report({**metric, **values}).status_code == 200
                goes_on = not attempt.heartbeat().json()["finish"]
                assert goes_on is (accuracy in best), (rung, seen)
                kept += [attempt] if goes_on else []
            running = kept[::-1]
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop", params={"running": "cancel"})

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
        assert sum(ended["cost"].values()) == pytest.approx(ended["device_seconds"], abs=0.1)


class TestAfterALimit:
    def test_another_limit_lets_it_continue(self, service: InProcess) -> None:
        sweep = create(service, parallel=1, limits={"device_hours": 1e-9})
        run_all(service, sweep["id"], lambda spec: 0.5)
        path = f"/v1/sweeps/{sweep['id']}"
        for changes in ({"trials": 6}, {"seeds": [9]}, {"limits": {"device_hours": 2e-9}}):
            refused = check_problem(service.user.patch(path, json=changes), 409)
            assert refused["code"] == "limit_reached", changes
            assert sweep_of(service, sweep["id"])["state"] == "ended"
        changed = service.user.patch(path, json={"limits": {"device_hours": 1.0}}).json()
        assert (changed["state"], changed["config"]["limits"]["device_hours"]) == ("running", 1.0)
        run_all(service, sweep["id"], lambda spec: 0.5)
        ended = sweep_of(service, sweep["id"])
        assert (ended["reason"], ended["by_state"]) == ("completed", {"succeeded": 6})

    def test_a_target_needs_another_one(self, service: InProcess) -> None:
        sweep = create(service, parallel=1, limits={"target": 0.4})
        run_all(service, sweep["id"], lambda spec: 0.5)
        path = f"/v1/sweeps/{sweep['id']}"
        refused = check_problem(service.user.patch(path, json={"trials": 6}), 409)
        assert refused["code"] == "limit_reached"
        assert service.user.patch(path, json={"limits": {}}).json()["state"] == "running"
        run_all(service, sweep["id"], lambda spec: 0.5)
        assert sweep_of(service, sweep["id"])["by_state"] == {"succeeded": 6}

    def test_its_time_begins_anew(self, service: InProcess) -> None:
        sweep = create(service, parallel=1, limits={"run_seconds": 1000})
        begun(service, sweep["id"], 1)
        with service.database.write() as transaction:
            was = update(tables.sweeps).where(tables.sweeps.c.id == sweep["id"])
            transaction.connection.execute(was.values(created_at=transaction.now - 2_000_000))
        run_all(service, sweep["id"], lambda spec: 0.5)
        assert sweep_of(service, sweep["id"])["reason"] == "time_limit"
        path = f"/v1/sweeps/{sweep['id']}"
        assert service.user.patch(path, json={"trials": 6}).json()["state"] == "running"
        run_all(service, sweep["id"], lambda spec: 0.5)
        assert sweep_of(service, sweep["id"])["by_state"] == {"succeeded": 6}

    def test_former_failures_do_not_count(self, service: InProcess) -> None:
        rates = {RATE: {"values": [0.1 / (n + 1) for n in range(12)]}}
        sweep = create(service, parallel=1, parameters=rates)
        while sweep_of(service, sweep["id"])["state"] != "ended":
            for trial in trials_of(service, sweep["id"]):
                if trial["jobs"][0]["state"] == "queued":
                    service.attempt(trial["jobs"][0]["id"]).finish("diverged")
        assert sweep_of(service, sweep["id"])["reason"] == "trials_failed"
        path = f"/v1/sweeps/{sweep['id']}"
        assert service.user.patch(path, json={"trials": 12}).json()["state"] == "running"
        run_all(service, sweep["id"], lambda spec: 0.5)
        ended = sweep_of(service, sweep["id"])
        assert (ended["reason"], ended["by_state"]) == ("completed", {"failed": 10, "succeeded": 2})


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

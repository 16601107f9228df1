"""The trials of a sweep: their points, seeds, values and order."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
import pytest
from sqlalchemy import select, update

from ipulse_service.db.tables import sweeps
from tests.service.conditions import eventually
from tests.service.running import InProcess
from tests.service.sweeps.sweeping import (
    NEURONS,
    RATE,
    begun,
    config,
    create,
    refused,
    run_all,
    succeed,
    sweep_of,
    trials_of,
)

pytestmark = pytest.mark.postgresql


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

    def test_n19_failed_replicas_are_left_out_and_counted(self, service: InProcess) -> None:
        sweep = create(service, parameters={RATE: {"values": [0.1]}}, seeds=[1, 2, 3, 4, 5])
        (trial,) = begun(service, sweep["id"], 1)
        accuracies = {1: 0.71, 3: 0.64, 5: 0.9}
        for job in trial["jobs"]:
            attempt = service.attempt(job["id"])
            if job["seed"] in accuracies:
                succeed(attempt, accuracies[job["seed"]])
            else:
                attempt.finish("diverged", "the loss is NaN")
        eventually(lambda: sweep_of(service, sweep["id"])["state"] == "ended")
        (trial,) = trials_of(service, sweep["id"])
        values = [job["value"] for job in trial["jobs"] if job["value"] is not None]
        assert values == [*accuracies.values()]
        assert (trial["n"], len(trial["jobs"])) == (3, 5)
        assert trial["value"] == pytest.approx(np.mean(values))
        assert trial["deviation"] == pytest.approx(np.std(values, ddof=1))
        jobs = [job["id"] for job in trial["jobs"]]
        compared = service.user.post("/v1/jobs:compare", json={"jobs": jobs, "group_by": []})
        (group,) = compared.json()["groups"]
        figures = group["metrics"]["test_accuracy"]
        assert (figures["n"], figures["of"], len(figures["missing"])) == (3, 5, 2)
        assert figures["mean"] == trial["value"]
        assert figures["sd"] == trial["deviation"]

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


def test_a_sweep_that_fails_holds_up_no_other(service: InProcess) -> None:
    """A definition that this version cannot read may be from another one."""
    broken = create(service, parallel=1)
    begun(service, broken["id"], 1)
    this = sweeps.c.id == broken["id"]
    with service.database.write() as transaction:
        stored = transaction.connection.execute(select(sweeps.c.config).where(this)).scalar_one()
        transaction.connection.execute(update(sweeps).where(this).values(config="{}"))
    try:
        other = create(service, parallel=1)
        begun(service, other["id"], 1)
    finally:
        with service.database.write() as transaction:
            transaction.connection.execute(update(sweeps).where(this).values(config=stored))
    for sweep in (broken, other):
        service.user.post(f"/v1/sweeps/{sweep['id']}/stop")

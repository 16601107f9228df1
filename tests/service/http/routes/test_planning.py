"""A plan says what a submission would wait for, and stores nothing; on both databases."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tests.service.agents import METRIC
from tests.service.http.routes.test_queue import announce, claim, history, seconds_between, waits
from tests.service.http.routes.test_scheduling import submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.people import checked, person
from tests.service.running import SPEC, InProcess

SHD = {**SPEC, "data": {"kind": "shd", "steps": 10}}


def plan(service: InProcess, spec: dict[str, Any] = SPEC, **query: Any) -> dict[str, Any]:
    answer = service.user.post("/v1/jobs:plan", json=spec, params=query)
    assert answer.status_code == 200, answer.text
    planned: dict[str, Any] = answer.json()
    return planned


def test_says_what_the_submitted_job_then_waits_for(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    held = submit(alone)
    claim(alone, "a", "cpu")
    submit(alone)
    submit(alone, priority=-1)
    planned = plan(alone)["waiting_on"]
    assert (planned["reason"], planned["holder"]) == ("device_busy", held)
    assert (planned["position"], planned["of"]) == (2, 3)
    assert len(alone.user.get("/v1/jobs").json()["jobs"]) == 3
    assert waits(alone, submit(alone)) == planned
    assert plan(alone, priority=5)["waiting_on"]["position"] == 1


def test_counts_the_agents_that_could_run_it(alone: InProcess) -> None:
    announce(alone, "a", "cpu", data_sets=["shd/shd"])
    announce(alone, "b", "cpu", data_sets=[])
    announce(alone, "c", "emulator", ipus={"emulator": 2})
    planned = plan(alone, SHD)
    counted = ("agents", "agents_with_device", "agents_with_data", "able_agents")
    assert [planned[name] for name in counted] == [3, 2, 1, 1]
    assert planned["data_set"].startswith("shd/")


def test_lists_the_simulators_that_can_run_the_network(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    assert plan(alone)["nir_targets"] == ["generic", "norse", "snntorch", "spikingjelly"]
    network = {**SPEC["network"], "reset": "subtract"}
    answer = alone.user.post("/v1/jobs:validate", json={**SPEC, "network": network})
    assert "sinabs" in answer.json()["nir_targets"]


def test_a_spec_that_no_agent_can_run_is_refused(alone: InProcess) -> None:
    announce(alone, "a", "cpu", data_sets=[])
    answer = check_problem(alone.user.post("/v1/jobs:plan", json=SHD), 422)
    assert answer["errors"][0]["pointer"] == "/data/name"


def test_estimates_by_the_latest_jobs(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    assert plan(alone)["usual_seconds"] is None
    history(alone, minutes=2)
    submit(alone)
    running = claim(alone, "a", "cpu")
    planned = plan(alone)
    assert planned["usual_seconds"] == 120
    created = alone.job(running.claim["job_id"])["started_at"]
    assert seconds_between(created, planned["waiting_on"]["estimated_start"]) > 100


def test_predicts_the_memory_of_the_fullest_tile(alone: InProcess) -> None:
    announce(alone, "c", "emulator", "cpu", ipus={"emulator": 2})
    assert plan(alone)["fit"] is None  # on a CPU
    emulated = {**SPEC, "device": {"kind": "emulator", "ipus": 2}}
    fit = plan(alone, emulated)["fit"]
    assert (fit["verdict"], fit["tiles"], fit["basis"]) == ("fits", 2 * 1472, "estimate")
    assert 0 < fit["fullest_tile_bytes"] < fit["tile_bytes"]
    assert alone.user.post("/v1/jobs:validate", json=emulated).json()["fit"] == fit


def test_predicts_the_cycles_of_a_training_step(alone: InProcess) -> None:
    announce(alone, "c", "emulator", "cpu")
    assert plan(alone)["cycles"] is None  # on a CPU
    emulated = {**SPEC, "device": {"kind": "emulator"}}
    assumed = plan(alone, emulated)["cycles"]
    band = assumed["band"]
    assert 0 < band["low"] < assumed["cycles"] < band["high"]
    assert (assumed["activity"]["basis"], assumed["activity"]["job"]) == ("assumed", None)
    assert assumed["layers"][-1]["name"] is None  # around the layers


def test_says_why_a_figure_is_missing(alone: InProcess) -> None:
    announce(alone, "c", "emulator", "cpu")
    assert plan(alone)["not_predicted"] == {"fit": None, "cycles": None}  # on a CPU
    emulated = {**SPEC, "device": {"kind": "emulator"}}
    assert plan(alone, emulated)["not_predicted"] == {"fit": None, "cycles": None}
    trained = {**emulated, "network": {**SPEC["network"], "trainable": ["decay"]}}
    found = plan(alone, trained)
    assert (found["fit"] is None, found["cycles"]) == (False, None)
    assert found["not_predicted"]["fit"] is None
    assert "trained" in found["not_predicted"]["cycles"]


def test_cycles_are_of_the_last_training_of_the_network(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    announce(alone, "c", "emulator")
    emulated = {**SPEC, "device": {"kind": "emulator"}}
    neurons = plan(alone)["spec"]["network"]["layers"][0]["neurons"]
    values = {"loss": 0.5, "firing_rate/1": 0.5, "gradient_set/1": 1.0}
    job = submit(alone)
    attempt = claim(alone, "a", "cpu")
    attempt.report({**METRIC, "scope": "epoch", "values": values})
    attempt.complete()
    found = plan(alone, emulated)["cycles"]["activity"]
    assert (found["basis"], found["job"]) == ("last_run", job)
    assert found["layers"][0]["spikes"] == neurons / 2
    network = {"layers": [{"neurons": neurons + 2}]}
    other = plan(alone, {**emulated, "network": network})["cycles"]["activity"]
    assert other["basis"] == "assumed"


def test_what_cannot_fit_is_refused_with_the_number(alone: InProcess) -> None:
    announce(alone, "c", "emulator", ipus={"emulator": 2})
    device, data = {"kind": "emulator"}, {"kind": "digits", "steps": 100}
    huge = {**SPEC, "data": data, "device": device, "network": {"layers": [{"neurons": 4096}]}}
    for path in ("/v1/jobs:plan", "/v1/jobs:validate", "/v1/jobs"):
        problem = check_problem(alone.user.post(path, json=huge), 422)
        assert (problem["code"], problem["errors"][0]["pointer"]) == ("does_not_fit", "/device")
        assert "638,976" in problem["errors"][0]["detail"]


def test_expects_the_time_of_another_size_by_its_work(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    assert plan(alone)["expected"] is None
    history(alone, minutes=2, jobs=1)
    first = plan(alone)["expected"]
    assert (first["seconds"], first["basis"], first["jobs"]) == (120, "work", 1)
    epochs = 3 * plan(alone)["spec"]["training"]["epochs"]
    longer = {**SPEC, "training": {"epochs": epochs}}
    expected = plan(alone, longer)["expected"]
    assert expected["seconds"] == 360
    assert expected["least_seconds"] <= 180 <= 720 <= expected["most_seconds"]
    history(alone, minutes=2, jobs=2)
    alike = plan(alone)["expected"]
    assert (alike["basis"], alike["jobs"]) == ("like_jobs", 3)
    assert plan(alone, longer)["expected"]["most_seconds"] < 720


def test_plans_a_sweep(alone: InProcess) -> None:
    announce(alone, "a", "cpu")
    announce(alone, "b", "cpu")
    sweep = {
        "sweep": "sizes",
        "spec": SPEC,
        "parameters": {"/training/epochs": {"values": [1, 2, 3]}},
        "seeds": [1, 2],
        "parallel": 4,
    }
    path = "/v1/sweeps:plan"
    planned = alone.user.post(path, json=sweep).json()
    assert (planned["trials"], planned["jobs"], planned["parallel"]) == (3, 6, 2)
    assert planned["expected_job"] is None
    history(alone, minutes=2, jobs=1)
    each = plan(alone)["spec"]["training"]["epochs"]
    planned = alone.user.post(path, json=sweep).json()
    assert planned["expected_job"]["seconds"] == 120 * 2 / each
    assert planned["expected_devices"]["seconds"] == 6 * 120 * 2 / each
    assert planned["expected_seconds"] == 3 * 120 * 2 / each
    assert planned["waiting_on"]["reason"] == "wake_up"
    assert alone.user.get("/v1/sweeps").json()["sweeps"] == []
    wrong = {**sweep, "parameters": {"/training/epochs": {"values": [0]}}}
    assert alone.user.post(path, json=wrong).status_code == 422


def test_says_whether_the_program_is_cached(alone: InProcess) -> None:
    emulated = {**SPEC, "device": {"kind": "emulator"}}
    announce(alone, "a", "cpu", "emulator", host="one")
    announce(alone, "b", "emulator", host="two")
    assert plan(alone)["executable_cached"] is None
    assert plan(alone, emulated)["executable_cached"] is False
    alone.submit(emulated)
    claim(alone, "a", "emulator").complete()
    assert plan(alone, {**emulated, "seed": 7})["executable_cached"] is True
    wider = {**emulated, "network": {"layers": [{"neurons": 5}]}}
    assert plan(alone, wider)["executable_cached"] is False
    sweep = {"sweep": "s", "spec": emulated, "parameters": {"/seed": {"values": [1, 2]}}}
    answer = alone.user.post("/v1/sweeps:plan", json=sweep)
    assert answer.json()["executable_cached"] is True, answer.text
    with ExitStack() as stack:  # who may not see that job is told nothing of it
        checked(alone.user.post("/v1/projects", json={"name": "vision"}))
        zoe = person(alone, stack, "zoe", vision="member")
        theirs = zoe.post("/v1/jobs:plan", json=emulated).json()
    assert (theirs["executable_cached"], theirs["cycles"]["activity"]["job"]) == (False, None)
    announce(alone, "a", "cpu", host="one")  # only another machine has such a device now
    assert plan(alone, emulated)["executable_cached"] is False

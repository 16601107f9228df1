"""Curves of metrics: scopes, axes, buckets, resumed trainings; on both databases."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import delete, update

from ipulse_service.db import tables
from ipulse_service.jobs import store
from ipulse_service.jobs.curves import points
from tests.service.agents import Attempt, phase
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

SEED = 11


def started(service: InProcess) -> Attempt:
    attempt = service.attempt(service.submit({**SPEC, "training": {"batch_size": 8}})["id"])
    attempt.report(phase("prepare"), phase("run"))
    return attempt


def step(number: int, steps: int = 10, **values: float) -> dict[str, Any]:
    where = {"epoch": 1, "epochs": 5, "step": number, "steps": steps, "scope": "step"}
    return {"kind": "metric", **where, "values": values}


def epoch(number: int, **values: float) -> dict[str, Any]:
    where = {"epoch": number, "epochs": 5, "step": 2 * number, "steps": 10, "scope": "epoch"}
    return {"kind": "metric", **where, "values": values}


def get(service: InProcess, *jobs: str, **query: Any) -> list[dict[str, Any]]:
    params = {"jobs": ",".join(jobs), **query}
    response = service.user.get("/v1/metrics", params=params)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["jobs"]
    return found


def by_name(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {series["name"]: series for series in job["series"]}


def test_epochs_and_steps_are_separate_series(service: InProcess) -> None:
    attempt = started(service)
    job_id = attempt.claim["job_id"]
    attempt.report(step(1, loss=3.0), step(2, loss=2.0), epoch(1, loss=2.5, test_loss=2.2))
    attempt.report(step(3, loss=1.0), epoch(2, loss=1.0, test_loss=1.1))
    [job] = get(service, job_id)
    assert (job["job"], job["state"], job["x_range"]) == (job_id, "running", [1, 2])
    series = by_name(job)
    assert set(series) == {"loss", "test_loss"}
    assert (series["loss"]["x"], series["loss"]["last"]) == ([1, 2], [2.5, 1.0])
    assert series["loss"]["min"] == series["loss"]["max"] == series["loss"]["last"]
    [job] = get(service, job_id, scope="step", x="step", names="loss,other")
    [loss] = job["series"]
    assert (loss["x"], loss["last"], loss["n"]) == ([1, 2, 3], [3.0, 2.0, 1.0], [1, 1, 1])


def test_each_axis(service: InProcess) -> None:
    attempt = started(service)
    job_id = attempt.claim["job_id"]
    attempt.report(step(1, loss=3.0))
    attempt.report(step(4, loss=2.0))

    def xs(axis: str) -> list[float]:
        values: list[float] = by_name(get(service, job_id, scope="step", x=axis)[0])["loss"]["x"]
        return values

    assert xs("step") == [1, 4]
    assert xs("samples") == [8, 32]
    assert xs("epoch") == [0.5, 2.0]
    assert xs("share") == [0.1, 0.4]
    first, second = xs("training_time")
    assert 0 <= first <= second < 600
    walls = xs("wall_time")
    assert walls[1] - walls[0] == pytest.approx(second - first, abs=0.002)
    assert walls[0] > 1.7e9


def test_no_peak_is_lost_and_a_zoom_is_exact(service: InProcess) -> None:
    print(f"seed {SEED}")  # noqa: T201
    numbers = random.Random(SEED)
    values = [numbers.random() for _ in range(3000)]
    values[1234] = 77.0
    attempt = started(service)
    job_id = attempt.claim["job_id"]
    for begin in range(0, 3000, 500):
        part = range(begin, begin + 500)
        attempt.report(*(step(n + 1, 3000, loss=values[n]) for n in part))
    query = {"scope": "step", "x": "step"}
    [loss] = get(service, job_id, **query, points=100)[0]["series"]
    assert len(loss["x"]) <= 100
    assert (sum(loss["n"]), loss["total"]) == (3000, 3000)
    assert max(loss["max"]) == 77.0
    assert (min(loss["min"]), loss["last"][-1], loss["x"][-1]) == (min(values), values[-1], 3000)
    for x, last, low, high in zip(*(loss[k] for k in ("x", "last", "min", "max")), strict=True):
        assert low <= last <= high
        assert last == values[x - 1]
    [job] = get(service, job_id, **{**query, "from": 1230, "to": 1240}, points=100)
    [zoomed] = job["series"]
    assert zoomed["x"] == list(range(1230, 1241))
    assert zoomed["last"] == values[1229:1240]
    assert job["x_range"] == [1, 3000]
    [short] = get(service, job_id, **{**query, "from": 1230, "to": 1240}, compact="true")[0][
        "series"
    ]
    assert short == {**zoomed, "min": None, "max": None, "n": None}
    [merged] = get(service, job_id, **query, points=100, compact="true")[0]["series"]
    assert merged == loss


@pytest.mark.parametrize("at_once", [500, 3000])
def test_a_job_with_too_many_values_has_coarser_curves_with_all_peaks(
    service: InProcess, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(points, "MAX_VALUES", 2_000)
    numbers = random.Random(SEED)
    values = [numbers.random() for _ in range(3000)]
    values[77], values[2222] = 99.0, -99.0
    attempt = started(service)
    job_id = attempt.claim["job_id"]
    query = {"scope": "step", "x": "step", "points": 1000}
    for begin in range(0, 3000, 500):
        part = range(begin, begin + 500)
        rare = {n: {"rare": values[n]} for n in part if n % 7 == 3}
        attempt.report(*(step(n + 1, 3000, loss=values[n], **rare.get(n, {})) for n in part))
        if at_once == 500:
            get(service, job_id, **query)  # it grows a part at a time
    series = by_name(get(service, job_id, **query)[0])
    expected = {"loss": values, "rare": values[3::7]}
    for name, curve in series.items():
        assert (curve["total"], sum(curve["n"])) == (len(expected[name]),) * 2
        assert max(curve["max"]) == max(expected[name])
        assert min(curve["min"]) == min(expected[name])
        assert curve["last"][-1] == expected[name][-1]
        assert curve["x"] == sorted(curve["x"])
    assert series["loss"]["x"][-1] == 3000
    assert len(series["loss"]["x"]) < 2_000 / 4
    assert max(series["loss"]["n"]) <= 2 * min(series["loss"]["n"][:-1]), "as coarse everywhere"
    [loss] = get(service, job_id, **query, names="loss")[0]["series"]
    for x, low, high, n in zip(*(loss[key] for key in ("x", "min", "max", "n")), strict=True):
        assert (low, high) == (min(values[x - n : x]), max(values[x - n : x]))
    assert sum(each.size for each in service.state.curve_cache._points.values()) < 200_000


def test_a_resumed_attempt_replaces_what_it_repeats(service: InProcess) -> None:
    first = started(service)
    job_id = first.claim["job_id"]
    first.report(epoch(1, loss=3.0), epoch(2, loss=2.0), epoch(3, loss=1.0))
    service.user.post(f"/v1/jobs/{job_id}/pause")
    first.finish("cancelled_by_user")
    service.user.post(f"/v1/jobs/{job_id}/resume")
    second = service.attempt(job_id)
    second.report(phase("prepare"), phase("run"), epoch(3, loss=1.0), epoch(4, loss=0.5))
    [job] = get(service, job_id)
    [loss] = job["series"]
    assert (loss["x"], loss["last"]) == ([1, 2, 3, 4], [3.0, 2.0, 1.0, 0.5])
    assert job["attempt_starts"] == [1, 3]
    [trained] = get(service, job_id, x="training_time")[0]["series"]
    assert trained["x"] == sorted(trained["x"])


def test_a_running_job_continues_its_curves(service: InProcess) -> None:
    attempt = started(service)
    job_id = attempt.claim["job_id"]
    attempt.report(step(1, loss=3.0), epoch(1, loss=3.0))
    for axis in ("step", "samples", "training_time"):
        assert len(get(service, job_id, scope="step", x=axis)[0]["series"][0]["x"]) == 1
    attempt.report(step(2, loss=2.0, rate=0.5), epoch(2, test_loss=9.0))
    attempt.report(step(3, loss=1.0))
    series = by_name(get(service, job_id, scope="step", x="step")[0])
    assert (series["loss"]["x"], series["loss"]["last"]) == ([1, 2, 3], [3.0, 2.0, 1.0])
    assert (series["rate"]["x"], series["rate"]["last"]) == ([2], [0.5])
    series = by_name(get(service, job_id)[0])
    assert [(s["x"], s["last"]) for s in series.values()] == [([1.0], [3.0]), ([2.0], [9.0])]


def test_curves_of_another_history_are_read_again(service: InProcess) -> None:
    attempt = started(service)
    job_id = attempt.claim["job_id"]
    attempt.report(epoch(1, loss=3.0), epoch(2, loss=2.0))
    assert get(service, job_id)[0]["series"][0]["last"] == [3.0, 2.0]
    with service.database.write() as transaction:  # as after a restored backup
        job = store.get(transaction, job_id)
        events = tables.events
        last = (events.c.job_pk == job.pk) & (events.c.seq == job.last_seq)
        transaction.connection.execute(
            update(events).where(last).values(time=events.c.time + 1, body=events.c.body + " ")
        )
        first = (events.c.job_pk == job.pk) & (events.c.seq == job.last_seq - 1)
        transaction.connection.execute(delete(events).where(first))
    assert get(service, job_id)[0]["series"][0]["last"] == [2.0]


def test_several_jobs_keep_their_order_and_share_an_etag(service: InProcess) -> None:
    one, two = started(service), started(service)
    ids = [two.claim["job_id"], one.claim["job_id"]]
    one.report(epoch(1, loss=1.0))
    assert [job["job"] for job in get(service, *ids)] == ids
    assert get(service, *ids)[0]["x_range"] is None
    url = f"/v1/metrics?jobs={','.join(ids)}"
    tag = service.user.get(url).headers["etag"]
    assert service.user.get(url, headers={"if-none-match": tag}).status_code == 304
    other = service.user.get(url + "&points=5", headers={"if-none-match": tag})
    assert other.status_code == 200
    two.report(epoch(1, loss=2.0))
    assert service.user.get(url, headers={"if-none-match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("query", "status", "pointer"),
    [
        ({"jobs": ""}, 400, "/query/jobs"),
        ({"jobs": ","}, 400, "/query/jobs"),
        ({"jobs": "job_" + "0" * 24}, 404, None),
        ({"jobs": "\x00"}, 400, "/query"),
        ({"jobs": ",".join(f"job_{n:024x}" for n in range(201))}, 400, "/query/jobs"),
        ({"jobs": ",".join(f"job_{n:024x}" for n in range(50)), "points": 9000}, 400, None),
        ({"jobs": "a", "scope": "batch"}, 400, "/query/scope"),
        ({"jobs": "a", "x": "hours"}, 400, "/query/x"),
        ({"jobs": "a", "from": "nan"}, 400, "/query/from"),
        ({"jobs": "a", "from": "3", "to": "2"}, 400, "/query/to"),
        ({"jobs": "a", "points": "1"}, 400, "/query/points"),
        ({"jobs": "a", "nmes": "loss"}, 400, "/query/nmes"),
    ],
)
def test_a_wrong_request_is_refused(
    service: InProcess, query: dict[str, Any], status: int, pointer: str | None
) -> None:
    problem = check_problem(service.user.get("/v1/metrics", params=query), status)
    if pointer is not None:
        assert problem["errors"][0]["pointer"] == pointer

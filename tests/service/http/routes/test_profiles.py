"""Profiles of two jobs are compared."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.http.routes.test_submission import check_problem
from tests.service.profiles import profile, profiled_job, tiles
from tests.service.running import InProcess


def diff(service: InProcess, a: str, b: str) -> dict[str, Any]:
    response = service.user.get("/v1/profiles:diff", params={"a": a, "b": b})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_seconds_and_memory_of_two_jobs(service: InProcess) -> None:
    slow = profiled_job(service, profile(run=4.0, forward=0.008), name="slow")
    fast = profiled_job(service, profile(run=2.0, forward=0.004, memory={}), name="fast")
    found = diff(service, slow, fast)
    assert (found["a"]["id"], found["b"]["name"], found["tiles"]) == (slow, "fast", None)
    phases = {one["name"]: (one["before"], one["after"]) for one in found["phases"]["changes"]}
    assert phases == {"prepare": (1.0, 1.0), "run": (4.0, 2.0)}
    layers = {one["name"]: one["relative"] for one in found["layers"]["changes"]}
    assert layers["layer 1, forward"] == pytest.approx(-0.5)
    assert layers["readout, backward"] == 0
    assert found["speed"]["changes"][0]["relative"] == pytest.approx(1.0)
    [gone] = found["memory"]["changes"]
    assert (gone["before"], gone["after"], gone["change"]) == (4096, None, -4096)


def test_a_profile_does_not_differ_from_itself(service: InProcess) -> None:
    job_id = profiled_job(service, profile(), tiles(), name="itself")
    found = diff(service, job_id, job_id)
    lists = [one for one in found.values() if isinstance(one, dict) and "changes" in one]
    assert len(lists) == 5
    assert all(each["change"] == 0 for one in lists for each in one["changes"])
    programs = found["tiles"]
    assert [programs[name]["total"] for name in ("programs", "layers", "tile_memory")] == [0, 0, 0]
    assert programs["liveness"] == [[100, 300, 400, 500]] * 2


def test_programs_on_tiles_are_compared(service: InProcess) -> None:
    one = profiled_job(service, profile(), tiles(tiles=4), name="one")
    two = profiled_job(service, profile(), tiles(tiles=2, name="ordered"), name="two")
    found = diff(service, one, two)
    assert found["unlike"] == ["tilesPerIpu is 4 and 2"]
    changes = {each["name"]: each["change"] for each in found["tiles"]["programs"]["changes"]}
    assert changes == {"arrange": -150, "ordered": 150}


def test_copies_between_host_and_device_are_summed_by_direction(service: InProcess) -> None:
    def copies(job_id: str) -> list[dict[str, Any]]:
        response = service.user.get("/v1/profiles:copies", params={"job": job_id})
        assert response.status_code == 200, response.text
        found: list[dict[str, Any]] = response.json()["copies"]
        return found

    document = tiles()
    assert copies(profiled_job(service, profile(), document, name="copied")) == [], (
        "a profile from before"
    )
    first, *others = document["execution"]["totals"]
    first.update(bytesFromHost=2048, bytesToHost=0)
    for other in others:
        other.update(bytesFromHost=0, bytesToHost=512)
    to_device, to_host = copies(profiled_job(service, profile(), document, name="copied"))
    kinds = [f"{kind}Cycles" for kind in ("compute", "exchange", "sync", "host")]
    for found, steps, size in ((to_device, [first], 2048), (to_host, others, 512 * len(others))):
        assert found == {
            "is_to_host": found is to_host,
            "executions": sum(step["executions"] for step in steps),
            "total_bytes": size,
            "cycles": sum(step[kind] for step in steps for kind in kinds),
            "host_cycles": sum(step["hostCycles"] for step in steps),
            "sync_cycles": sum(step["syncCycles"] for step in steps),
        }
    del document["execution"]
    assert copies(profiled_job(service, profile(), document, name="copied")) == [], "nothing ran"
    response = service.user.get("/v1/profiles:copies", params={"job": service.submit()["id"]})
    assert response.status_code == 404


def test_what_cannot_be_compared_is_said(service: InProcess) -> None:
    fine = profiled_job(service, profile(), name="fine")
    without = service.submit()["id"]
    for name, job_id in (("a", without), ("b", "job_" + "0" * 24)):
        query = {"a": fine, "b": fine, name: job_id}
        response = service.user.get("/v1/profiles:diff", params=query)
        assert job_id in check_problem(response, 404)["detail"]
    for content in (b"{", b"[]", b'{"execution": {}}', b"[" * 100_000):
        broken = profiled_job(service, content, name="broken")
        response = service.user.get("/v1/profiles:diff", params={"a": fine, "b": broken})
        assert check_problem(response, 422)["code"] == "invalid_report"
    response = service.user.get("/v1/profiles:diff", params={"a": fine})
    assert check_problem(response, 400)["errors"][0]["pointer"] == "/query/b"

"""Many jobs are changed by a query."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.service.http.routes.crowd import spec, submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql


def test_many_jobs_change_by_a_query(service: InProcess) -> None:
    group = f"g{secrets.token_hex(6)}"
    ids = [submit(service, spec(seed=seed), group=group) for seed in range(3)]
    query = {"q": f"group:{group} seed>0"}
    counted = service.user.post("/v1/jobs:cancel", params={**query, "dry_run": True}).json()
    assert counted["matched"] == 2
    assert service.user.post("/v1/jobs:cancel", params=query).json()["changed"] == 2
    assert [service.job(job_id)["state"] for job_id in ids] == ["queued", "cancelled", "cancelled"]
    assert service.user.post("/v1/jobs:delete", params=query).json()["changed"] == 2
    left = service.user.get("/v1/jobs", params={"q": f"group:{group}", "count": True}).json()
    assert (left["total"], left["jobs"][0]["id"]) == (1, ids[0])


def test_many_jobs_are_paused_resumed_and_edited(service: InProcess) -> None:
    group = f"g{secrets.token_hex(6)}"
    ids = [submit(service, spec(seed=seed), group=group, tag=["a"]) for seed in range(3)]
    service.user.post(f"/v1/jobs/{ids[2]}/cancel")
    query = {"q": f"group:{group}"}

    def change(verb: str, body: dict[str, Any] | None = None) -> tuple[int, int]:
        response = service.user.post(f"/v1/jobs:{verb}", params=query, json=body)
        assert response.status_code == 200, response.text
        return response.json()["changed"], response.json()["unchanged"]

    assert change("finish") == (0, 3), "none of them runs"
    assert change("pause") == (2, 1)
    assert change("pause") == (0, 3)
    assert change("resume") == (2, 1)
    assert change("edit", {"add_tags": ["b"], "remove_tags": ["a"], "group": "other"}) == (3, 0)
    query = {"q": "group:other tag:b"}
    assert change("edit", {"priority": 5}) == (2, 1)
    assert [service.job(job_id)["priority"] for job_id in ids] == [5, 5, 0]
    assert change("edit", {"add_tags": [f"t{n}" for n in range(16)]}) == (0, 3)
    response = service.user.post("/v1/jobs:edit", params=query, json={})
    check_problem(response, 422)
    response = service.user.post("/v1/jobs:edit", json={"priority": 1})
    assert check_problem(response, 400)["errors"][0]["code"] == "missing_filter"
    assert change("cancel") == (2, 1)
    assert change("edit", {"group": "swp_0123456789ab"}) == (3, 0)
    for text in ("0123", "swp_0123456789ab", "*89ab"):
        query = {"q": f"sweep:{text} seed:1", "columns": "sweep"}
        [job] = service.user.get("/v1/jobs", params=query).json()["jobs"]
        assert job["values"] == {"sweep": "swp_0123456789ab"}
    none = {"q": f"sweep:null id:{ids[0]}", "count": True}
    assert service.user.get("/v1/jobs", params=none).json()["total"] == 0
    found = service.user.get("/v1/jobs:suggest", params={"q": "sweep:swp_01"}).json()["items"]
    assert [item["text"] for item in found] == ["swp_0123456789ab"]
    query = {"q": "sweep:0123456789ab"}
    assert change("delete") == (3, 0)

"""Columns of a list of jobs: their values, orders by them, and names that occur."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from ipulse_service.db.tables import DELETED, jobs
from tests.service.agents import METRIC
from tests.service.http.routes.crowd import Crowd
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

pytestmark = pytest.mark.postgresql


def test_columns_have_the_values_that_were_submitted(crowd: Crowd) -> None:
    columns = "learning_rate,layers[1].second_threshold,optimizer.kind,group,tag,label.team,nothing"
    page = crowd.get("name:digits-a", columns=columns).json()
    assert page["jobs"][0]["values"] == {
        "learning_rate": 0.01,
        "layers[1].second_threshold": 0.5,
        "optimizer.kind": "adam",
        "group": crowd.group,
        "tag": "old, wide",
        "label.team": None,
        "nothing": None,
    }
    kinds = {column["key"]: (column["name"], column["kind"]) for column in page["columns"]}
    assert kinds["learning_rate"] == ("training.optimizer.learning_rate", "setting")
    assert kinds["nothing"] == ("nothing", "unknown")
    assert crowd.get().json()["jobs"][0]["values"] is None


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("-test_accuracy", "abced"[:3] + "ed"),
        ("test_accuracy", "cbaed"),
        ("learning_rate,-seed", "dcbae"),
        ("-learning_rate", "ebadc"),
        ("-created", "edcba"),
        ("created", "abcde"),
        ("name", None),
        ("-priority", "cedba"),
        ("tag,name", None),
        ("age", "edcba"),
        ("label.team", "decba"),
        ("run_seconds,agent,state", None),
    ],
)
def test_jobs_are_sorted_by_any_columns(crowd: Crowd, sort: str, names: str | None) -> None:
    found = crowd.found(sort=sort)
    assert found == names if names else sorted(found) == list("abcde")


def test_pages_of_a_sorted_list_neither_repeat_nor_miss(service: InProcess, crowd: Crowd) -> None:
    seen, token = "", ""
    while True:
        query = {"sort": "learning_rate", "page_size": 2, "page_token": token, "count": True}
        page = crowd.get(**query).json()
        assert page["total"] == 5
        seen += "".join(crowd.names[job["id"]] for job in page["jobs"])
        token = page["next_page_token"]
        if not token:
            break
    assert sorted(seen) == list("abcde")
    assert crowd.found(sort="learning_rate", skip=2, page_size=2) == seen[2:4]
    assert crowd.found(skip=3, page_size=10) == "ba"
    page = crowd.get(skip=1, page_size=2).json()
    following = crowd.get(page_size=2, page_token=page["next_page_token"]).json()
    listed = [crowd.names[job["id"]] for job in (*page["jobs"], *following["jobs"])]
    assert listed == list("dcba")
    assert crowd.get("state:queued").json()["total"] is None
    first = crowd.get(sort="learning_rate", page_size=2).json()["next_page_token"]
    other = crowd.get(sort="-learning_rate", page_token=first)
    assert check_problem(other, 400)["errors"][0]["code"] == "filters_changed"
    both = crowd.get(page_token=first, skip=1)
    assert check_problem(both, 400)["errors"][0]["pointer"] == "/query/skip"


def test_the_columns_that_occur_have_counts(service: InProcess, crowd: Crowd) -> None:
    query = {"q": f"group:{crowd.group}"}
    listed = service.user.get("/v1/jobs:columns", params=query).json()
    assert listed["total"] == 5
    columns = {column["name"]: column for column in listed["columns"]}
    assert columns["training.optimizer.learning_rate"] == {
        "name": "training.optimizer.learning_rate",
        "label": "learning_rate",
        "kind": "setting",
        "jobs": 5,
        "differs": True,
        "type": "number",
        "min": 0.003,
        "max": 0.1,
    }
    assert columns["network.layers.1.neurons"]["differs"] is False
    assert columns["network.layers.0.recurrent"]["type"] == "boolean"
    assert columns["training.optimizer.kind"]["type"] == "text"
    assert columns["network.layers.0.second_threshold"]["type"] == "null"
    accuracy = columns["test_accuracy"]
    assert (accuracy["kind"], accuracy["jobs"], accuracy["min"]) == ("metric", 3, 0.3)
    assert listed["columns"][0]["kind"] == "field"


@pytest.mark.parametrize(
    ("q", "at", "start", "end", "some"),
    [
        ("sta", None, 0, 3, "state:"),
        ("name:x learn", None, 7, 12, "learning_rate="),
        ("-test_acc", None, 1, 9, "test_accuracy>"),
        ("state:suc", None, 6, 9, "succeeded"),
        ("state:queued,can", None, 13, 16, "cancelled"),
        ("(tag:wi", None, 5, 7, "wide"),
        ("learning_rate=", None, 14, 14, "0.01"),
        ("optimizer.kind:a", None, 15, 16, "adam"),
        ("state:x name:y", 6, 6, 6, "queued"),
        ('name:"Grö', None, 5, 9, '"Größe %x_"'),
        ("agent:", None, 6, 6, "agent-1"),
        ("", None, 0, 0, "state:"),
    ],
)
def test_what_may_follow_is_suggested(
    service: InProcess, crowd: Crowd, q: str, at: int | None, start: int, end: int, some: str
) -> None:
    query: dict[str, Any] = {"q": q} if at is None else {"q": q, "at": at}
    answer = service.user.get("/v1/jobs:suggest", params=query).json()
    assert (answer["start"], answer["end"]) == (start, end)
    assert some in [item["text"] for item in answer["items"]]
    assert len(answer["items"]) <= 20


def test_values_of_a_job_that_is_being_deleted_are_not_suggested(service: InProcess) -> None:
    def suggested(query: str) -> list[str]:
        answer = service.user.get("/v1/jobs:suggest", params={"q": query}).json()
        return [item["text"] for item in answer["items"]]

    attempt = service.attempt(service.submit({**SPEC, "seed": 98_765})["id"])
    metric = {**METRIC, "scope": "epoch", "values": {"test_accuracy": 0.98765}}
    assert attempt.report(metric).status_code == 200
    attempt.complete()
    queries = ("seed=98765", "test_accuracy>0.98765", "agent:agent-1")
    before = [suggested(query) for query in queries]
    assert before[0] == ["98765"]
    this = update(jobs).where(jobs.c.id == attempt.claim["job_id"])
    with service.database.write() as transaction:
        transaction.connection.execute(this.values(state=DELETED))
    after = [suggested(query) for query in queries]
    assert after[0] == []
    assert "0.98765" in before[1]
    assert "0.98765" not in after[1]
    with service.database.write() as transaction:
        transaction.connection.execute(this.values(state="succeeded"))


def test_a_rare_value_is_suggested_among_very_many(alone: InProcess) -> None:
    """Each job has values of its own, so that more are as frequent as are looked at."""
    for first in (0, 150):
        numbers = range(first, first + 150)
        made = [
            {
                "spec": {**SPEC, "name": f"Job {n:03}", "seed": n, "metadata": {"k": f"v{n:03}"}},
                "tags": [f"tag-{n:03}"],
            }
            for n in numbers
        ]
        answer = alone.user.post("/v1/jobs:batch", json={"jobs": made})
        assert answer.status_code == 202, answer.text
    typed = {"tag:tag-29": "tag-299", "name:job": "", 'name:"job 29': '"Job 299"'}
    for query, wanted in {**typed, "label.k:v29": "v299", "seed=299": "299"}.items():
        answer = alone.user.get("/v1/jobs:suggest", params={"q": query}).json()
        found = [item["text"] for item in answer["items"]]
        assert wanted in found or not wanted, query
        assert 0 < len(found) <= 20, query


def test_suggestions_survive_any_text(service: InProcess, crowd: Crowd) -> None:
    for q in ('"', "a:b:c", "neurons:", "((", "x>", "label.a:", "-", "a,b", "é:ü", "%", "'; --"):
        for at in range(len(q) + 1):
            response = service.user.get("/v1/jobs:suggest", params={"q": q, "at": at})
            assert response.status_code == 200, (q, at)

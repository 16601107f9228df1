"""Jobs are found by what they are, were given and reached; on both databases."""

from __future__ import annotations

import copy
import json
import re
import secrets
from typing import Any

import httpx
import pytest

from tests.service.http.routes.test_submission import check_problem
from tests.service.running import ROOT, SPEC, InProcess


def spec(rate: float = 0.001, seed: int = 0, neurons: int = 4, **more: Any) -> dict[str, Any]:
    changed = copy.deepcopy(SPEC)
    changed["training"] = {"optimizer": {"kind": "adam", "learning_rate": rate}}
    changed["network"]["layers"] = [{"neurons": neurons}, {"neurons": 8, "second_threshold": 0.5}]
    return {**changed, "seed": seed, **more}


def submit(service: InProcess, document: dict[str, Any], **query: Any) -> str:
    response = service.user.post("/v1/jobs", json=document, params=query)
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def metric(epoch: int, scope: str = "epoch", **values: float) -> dict[str, Any]:
    steps = {"epoch": epoch, "epochs": 9, "step": 10 * epoch, "steps": 90}
    return {"kind": "metric", **steps, "scope": scope, "values": values}


def train(
    service: InProcess, job_id: str, accuracies: list[float], kept: int | None = None
) -> None:
    """Runs a job with these test accuracies; without `kept` it does not end."""
    attempt = service.attempt(job_id)
    attempt.report({"kind": "phase", "phase": "prepare"}, {"kind": "phase", "phase": "run"})
    for epoch, accuracy in enumerate(accuracies, 1):
        values = {"test_accuracy": accuracy, "loss": 1 - accuracy, "firing_rate/1": 0.1 * epoch}
        values["learning_rate"] = 1e-4  # what a schedule leaves of the setting
        attempt.report(metric(epoch, "step", loss=7.0), metric(epoch, **values))
    if kept is not None:
        last = {"kept_epoch": kept, "epochs": len(accuracies)}
        attempt.report({"kind": "phase", "phase": "report"})
        attempt.put("manifest.json", "manifest")
        ended = attempt.finish("completed", test_accuracy=accuracies[kept - 1], **last)
        assert ended.status_code == 200, ended.text


class Crowd:
    """Five jobs of one group, by a short name."""

    def __init__(self, service: InProcess) -> None:
        self.service = service
        self.group = f"g{secrets.token_hex(6)}"
        given: dict[str, Any] = {"group": self.group}
        self.ids = {
            "a": submit(service, spec(0.01, 1, 128, name="digits-a"), tag=["wide", "old"], **given),
            "b": submit(service, spec(0.01, 2, 128, name="digits-b"), tag=["wide"], **given),
            "c": submit(service, spec(0.003, 1, 64, name="Größe %x_"), **given),
            "d": submit(service, spec(0.003, 2, 64, metadata={"team": "audio"}), **given),
            "e": submit(service, spec(0.1, 1, 32, name="shd"), notes="odd", **given),
        }
        self.names = {job_id: name for name, job_id in self.ids.items()}
        train(service, self.ids["a"], [0.2, 0.9, 0.8], kept=2)
        train(service, self.ids["b"], [0.5, 0.7], kept=2)
        train(service, self.ids["c"], [0.3])
        service.user.post(f"/v1/jobs/{self.ids['e']}/cancel")
        service.user.patch(f"/v1/jobs/{self.ids['c']}", json={"priority": 5})

    def get(self, q: str = "", **query: Any) -> httpx.Response:
        whole = f"group:{self.group} {f'({q})' if q else ''}"
        return self.service.user.get("/v1/jobs", params={"q": whole, **query})

    def found(self, q: str = "", **query: Any) -> str:
        response = self.get(q, **query)
        assert response.status_code == 200, response.text
        return "".join(self.names[job["id"]] for job in response.json()["jobs"])


@pytest.fixture(scope="module")
def crowd(service: InProcess) -> Crowd:
    return Crowd(service)


@pytest.mark.parametrize(
    ("q", "names"),
    [
        ("", "edcba"),
        ("state:succeeded", "ba"),
        ("state:succeeded,cancelled", "eba"),
        ("-state:succeeded", "edc"),
        ("state!=succeeded", "edc"),
        ("state:succe*", "ba"),
        ("reason:completed", "ba"),
        ("name:digits*", "ba"),
        ("name:digits-a OR name:shd", "ea"),
        ("(name:digits-a OR name:shd) state:cancelled", "e"),
        ("digits", "ba"),
        ("DIGITS AND -wide", ""),
        ('"größe %"', "c"),
        ('name:"Größe %x_"', "c"),
        ("name:*_", "c"),
        ("name:Gr*%*", "c"),
        ("tag:wide", "ba"),
        ("tag:wide -tag:old", "b"),
        ("tag:null", "edc"),
        ("tag:*", "ba"),
        ("tag:wid", ""),
        ("notes:od*", "e"),
        ("priority>0", "c"),
        ("priority:5", "c"),
        ("device:cpu", "edcba"),
        ("agent:agent-1", "cba"),
        ("agent:null", "ed"),
        ("attempt=0", "ed"),
        ("label.team:audio", "d"),
        ("label.team:null", "ecba"),
        ("age<7d", "edcba"),
        ("age>1h", ""),
        ("created>2020-01-31", "edcba"),
        ("created<2020-01-31T12:00:00+01:00", ""),
        ("queue_seconds>=0 run_seconds<1h", "cba"),
        ("learning_rate=0.01", "ba"),
        ("learning_rate>0.003", "eba"),
        ("learning_rate:0.1,0.003", "edc"),
        ("learning_rate!=0.01", "edc"),
        ("training.optimizer.learning_rate >= 0.1", "e"),
        ("/training/optimizer/learning_rate<1e-2", "dc"),
        ("layers.0.neurons=128 seed:2", "b"),
        ("layers[0].neurons:64", "dc"),
        ("layers.0.second_threshold:null", "edcba"),
        ("layers.1.second_threshold:null", ""),
        ("layers.1.second_threshold:*", "edcba"),
        ("optimizer.kind:adam", "edcba"),
        ("optimizer.kind:sgd", ""),
        ("recurrent:false", None),
        ("layers.0.recurrent:false", "edcba"),
        ("test_accuracy>0.75", "a"),
        ("test_accuracy.last>0.75", "a"),
        ("test_accuracy.min<0.25", "a"),
        ("test_accuracy.best=0.7", "b"),
        ("loss.best<0.35", "ba"),
        ("test_accuracy=null", "ed"),
        ("test_accuracy>0", "cba"),
        ("firing_rate/1>0.15", "ba"),
        ("loss:*", "cba"),
    ],
)
def test_a_query_finds(crowd: Crowd, q: str, names: str | None) -> None:
    if names is None:
        assert crowd.get(q).json()["errors"][0]["code"] == "ambiguous_name"
    else:
        assert crowd.found(q) == names


# The examples of docs/reference/search.md, and which jobs of the crowd they find.
DOCUMENTED = {
    "state:running": "c",
    "state:queued,retry_wait": "d",
    "-state:succeeded": "edc",
    "digits": "ba",
    '"Größe %"': "c",
    "name:digits*": "ba",
    "tag:wide -tag:old": "b",
    "tag:null": "edc",
    "group:null OR tag:wide": "ba",
    "label.team:audio": "d",
    "age<7d": "edcba",
    "created>=2020-01-31 created<2021-01-01": "",
    "run_seconds>1h": "",
    "agent:agent-*": "cba",
    "learning_rate:0.1,0.003": "edc",
    "layers.0.neurons>=128 seed:2": "b",
    "layers[1].second_threshold:*": "edcba",
    "test_accuracy>0.75": "a",
    "test_accuracy.max>=0.7 -test_accuracy.last>=0.7": "",
    "(name:digits* OR name:shd) learning_rate!=0.1": "ba",
}


def test_the_examples_of_the_reference_find_what_they_say(crowd: Crowd) -> None:
    page = (ROOT / "docs" / "reference" / "search.md").read_text(encoding="utf-8")
    examples = page.partition("## Examples")[2].partition("\n## ")[0]
    queries = re.findall(r"^\| `(.+?)` \|", examples, re.MULTILINE)
    assert queries == list(DOCUMENTED)
    assert {query: crowd.found(query) for query in queries} == DOCUMENTED


def test_a_metric_is_that_of_the_kept_epoch(crowd: Crowd) -> None:
    names = ("test_accuracy", *(f"test_accuracy.{end}" for end in ("best", "min", "max", "last")))
    columns = ",".join((*names, "loss", "loss.best", "firing_rate/1"))
    page = crowd.get("name:digits-a", columns=columns).json()
    [job] = page["jobs"]
    assert [job["values"][name] for name in names] == [0.9, 0.9, 0.2, 0.9, 0.8]
    assert job["values"]["loss"] == pytest.approx(0.1), "of the kept epoch, not in the summary"
    assert job["values"]["firing_rate/1"] == pytest.approx(0.2)
    assert {column["kind"] for column in page["columns"]} == {"metric"}


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


@pytest.mark.parametrize(
    ("q", "code", "position", "length"),
    [
        ("state:", "syntax", 6, 0),
        ("test_accuracy> ", "syntax", 15, 0),
        ("(state:queued", "syntax", 0, 1),
        ("a) b", "syntax", 1, 1),
        ('name:"open', "syntax", 5, 1),
        ("a OR", "syntax", 4, 0),
        ("- a", "syntax", 1, 0),
        ("learning_rate>0.1,0.2", "syntax", 17, 1),
        ("priority>high", "wrong_value", 9, 4),
        ("state:succeded", "wrong_value", 6, 8),
        ("name>5", "wrong_value", 5, 1),
        ("age<soon", "wrong_value", 4, 4),
        ("created>31.1.2026", "wrong_value", 8, 9),
        ("loss:mean*", "wrong_value", 5, 5),
        ("learning_rat=0.1", "unknown_name", 0, 12),
        ("x neurons=4", "ambiguous_name", 2, 7),
        ("a*b*c*d*e*f", "too_complex", 0, 11),
        ("ü bell\x07", "syntax", 6, 1),
    ],
)
def test_a_query_that_is_wrong_says_where(
    crowd: Crowd, service: InProcess, q: str, code: str, position: int, length: int
) -> None:
    for path in ("/v1/jobs", "/v1/jobs:columns"):
        response = service.user.get(path, params={"q": q})
        problem = check_problem(response, 422)
        assert problem["code"] == "invalid_query"
        [error] = problem["errors"]
        assert (error["code"], error["position"], error["length"]) == (code, position, length)
        assert error["pointer"] == "/query/q"
    assert check_problem(service.user.post("/v1/jobs:cancel", params={"q": q}), 422)


def test_no_query_is_too_much(service: InProcess, crowd: Crowd) -> None:
    many = " ".join(f"name:n{n}*" for n in range(90))
    assert service.user.get("/v1/jobs", params={"q": many}).status_code == 200
    for q in ("(" * 30, "a " * 500, "x" * 2_001, "-" * 1_000 + "a", "a OR " * 150 + "a"):
        check_problem(service.user.get("/v1/jobs", params={"q": q}), 422)
    sort = service.user.get("/v1/jobs", params={"sort": "-nme"})
    [error] = check_problem(sort, 422)["errors"]
    assert (error["pointer"], error["position"]) == ("/query/sort", 1)
    ambiguous = service.user.get("/v1/jobs", params={"columns": "name,neurons"})
    assert check_problem(ambiguous, 422)["errors"][0]["position"] == 5


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


def test_suggestions_survive_any_text(service: InProcess, crowd: Crowd) -> None:
    for q in ('"', "a:b:c", "neurons:", "((", "x>", "label.a:", "-", "a,b", "é:ü", "%", "'; --"):
        for at in range(len(q) + 1):
            response = service.user.get("/v1/jobs:suggest", params={"q": q, "at": at})
            assert response.status_code == 200, (q, at)


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


def test_a_resumed_training_has_the_values_of_all_its_epochs(service: InProcess) -> None:
    job_id = submit(service, spec(name="resumed"))
    first = service.attempt(job_id)
    first.report(metric(1, test_loss=3.0), metric(2, test_loss=1.0))
    service.user.post(f"/v1/jobs/{job_id}/pause")
    first.finish("cancelled_by_user")
    service.user.post(f"/v1/jobs/{job_id}/resume")
    service.attempt(job_id).report(metric(2, test_loss=1.0), metric(3, test_loss=2.0))
    columns = "test_loss,test_loss.best,test_loss.max"
    query = {"id_prefix": job_id, "columns": columns}
    [job] = service.user.get("/v1/jobs", params=query).json()["jobs"]
    assert list(job["values"].values()) == [2.0, 1.0, 3.0]


def test_long_lists_and_texts_are_found_by_their_digest(service: InProcess) -> None:
    document = spec(name="lists")
    document["network"]["layers"][0]["decay"] = [0.5] * 4
    job_id = submit(service, document)
    query = {"id_prefix": job_id, "columns": "layers.0.decay,layers.0.decay.3"}
    [job] = service.user.get("/v1/jobs", params=query).json()["jobs"]
    assert job["values"] == {"layers.0.decay": None, "layers.0.decay.3": 0.5}
    document["network"]["layers"][0] = {"neurons": 40, "decay": [0.5] * 40}
    [listed] = service.user.get(
        "/v1/jobs", params={"id_prefix": submit(service, document), "columns": "layers.0.decay"}
    ).json()["jobs"]
    assert "40 values" in json.dumps(listed["values"])

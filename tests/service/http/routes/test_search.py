"""Jobs are found by what they are, were given and reached; on both databases."""

from __future__ import annotations

import json
import re

import pytest

from tests.service.http.routes.crowd import Crowd, metric, spec, submit
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import ROOT, InProcess

pytestmark = pytest.mark.postgresql


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
    'name:"Größe %"*': "c",
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
    "layers[1].neuron.second_threshold:*": "edcba",
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

"""Every text that a spec may have is found by its quoted form; on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse_service.jobs.search.terms import quoted
from tests.service.running import SPEC, InProcess

ODD = [
    "my team",
    "a:b",
    "größe",
    "x=y",
    "(1)",
    "a,b",
    "a*b*c*d*e*f",
    "結果",
    "team.x",
    "-x",
    "<3>",
    'say "it"',
    '"',
    "a[0]",
    "C:\\new\\",
    "\\",
    "100%_\\%",
    "null",
    "*",
    "OR",
    "/a/b",
    "$.a",
    "it's",
]


def found(service: InProcess, query: str, **others: str) -> list[str]:
    answer = service.user.get("/v1/jobs", params={"q": query, **others})
    assert answer.status_code == 200, (query, answer.text)
    return [each["id"] for each in answer.json()["jobs"]]


def offered(service: InProcess, query: str) -> list[str]:
    answer = service.user.get("/v1/jobs:suggest", params={"q": query})
    assert answer.status_code == 200, (query, answer.text)
    return [item["text"] for item in answer.json()["items"]]


def submit(service: InProcess, **fields: Any) -> str:
    return str(service.submit({**SPEC, **fields})["id"])


@pytest.mark.parametrize("text", ODD)
def test_what_a_spec_may_have_is_found_by_its_quoted_form(service: InProcess, text: str) -> None:
    job = submit(service, name=text, metadata={text: "two words", "says": text})
    submit(service, name="plain", metadata={"says": "plain"})
    label = f"label.{quoted(text)}"
    for query in (
        f'{label}:"two words"',
        f"{label}:two*",
        f'{label}:"two w"*',
        f"name:{quoted(text)}",
        f"label.says:{quoted(text)}",
        f"{label}:* name:other,{quoted(text)}",
        f'{label}:"two words" {quoted(text)}',
    ):
        assert found(service, query) == [job], query
    assert found(service, f"{label}:three") == []
    assert job not in found(service, f"-{label}:null -name:{quoted(text)}")
    answer = service.user.get("/v1/jobs", params={"columns": f"name,{label}", "sort": f"-{label}"})
    assert answer.json()["jobs"][0]["values"] == {"name": text, label: "two words"}
    if "=" not in text:  # it ends the name in this filter
        assert found(service, "", label=f"{text}=two words") == [job]


@pytest.mark.parametrize("text", ODD)
def test_what_is_offered_is_found(service: InProcess, text: str) -> None:
    job = submit(service, name=f"{text} offered", metadata={text: f"{text} offered"})
    begun = quoted(text + " ")[:-1]  # the user has typed no closing mark yet
    names = offered(service, f"state:queued label.{begun[:-1]}")
    assert f"label.{quoted(text)}:" in names
    values = offered(service, f"label.{quoted(text)}:other,{begun}")
    assert quoted(f"{text} offered") in values
    assert quoted(f"{text} offered") in offered(service, f"name:{begun}")
    for value in values:
        assert job in found(service, f'label.{quoted(text)}:{value} name:{begun}offered"')


@pytest.mark.parametrize("tag", ["-x", ".", "a.b-c_d", "null"])
def test_tags_and_groups_are_found_by_their_quoted_form(service: InProcess, tag: str) -> None:
    group = "g" + tag
    job = submit(service, name="tagged")
    change = {"add_tags": [tag], "group": group}
    service.user.patch(f"/v1/jobs/{job}", json=change).raise_for_status()
    for query in (f"tag:{quoted(tag)}", f"group:{quoted(group)}", f'tag:"{tag}"*'):
        assert found(service, f"name:tagged {query}") == [job]
    assert quoted(tag) in offered(service, "tag:")


def test_quoted_texts_have_prefixes(service: InProcess) -> None:
    names = ["two words", "two w*", "two", 'two "w"', "two_w"]
    jobs = {name: submit(service, name=name) for name in names}
    for query, those in (
        ('name:"two w"*', {"two words", "two w*"}),
        ('name:"two w*"', {"two w*"}),
        ('name:"two w*"*', {"two w*"}),
        ('name:"two \\"w"*', {'two "w"'}),
        ('name:"two_"*', {"two_w"}),
        ('name:"two w"*,"two_"*', {"two words", "two w*", "two_w"}),
        ('name:two* -name:"two w"*', {"two", 'two "w"', "two_w"}),
        ('(name:"two wo"*)', {"two words"}),
    ):
        assert set(found(service, query)) == {jobs[name] for name in those}, query
    assert set(found(service, 'state:"que"* name:two*')) == set(jobs.values())


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ('state:queued label."my team:audio', "syntax"),
        ('name:"ends with \\"', "syntax"),
        ('priority:"1"*', "wrong_value"),
        ('created:"2026-01-31"*', "wrong_value"),
        ('age<"7d"*', "wrong_value"),
        ('test_accuracy:"0.5"*', "wrong_value"),
    ],
)
def test_a_quoted_text_in_the_wrong_place_is_refused(
    service: InProcess, query: str, code: str
) -> None:
    answer = service.user.get("/v1/jobs", params={"q": query})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == code


def test_suggestions_begin_behind_a_quoted_text(service: InProcess) -> None:
    for before in ('name:"a b" ', 'label."a b":x,"c, d" -', 'name:"a \\" b" ('):
        answer = service.user.get("/v1/jobs:suggest", params={"q": before + "sta"}).json()
        assert (answer["start"], answer["end"]) == (len(before), len(before) + 3)
        assert "state:" in [item["text"] for item in answer["items"]]

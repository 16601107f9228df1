"""Every label that a spec may have is found by its name; on both databases."""

from __future__ import annotations

import pytest

from tests.service.running import SPEC, InProcess


@pytest.mark.parametrize(
    "name", ["my team", "a:b", "größe", "x=y", "(1)", "a,b", "a*b", "結果", "team.x", "-x", "<3>"]
)
def test_a_label_is_found_by_its_quoted_name(service: InProcess, name: str) -> None:
    job = service.submit({**SPEC, "name": "labelled", "metadata": {name: "two words"}})
    other = service.submit({**SPEC, "name": "labelled"})
    for query, found in (
        (f'label."{name}":"two words"', [job]),
        (f'label."{name}":two*', [job]),
        (f'name:labelled -label."{name}":null', [job]),
        (f'label."{name}":three', []),
    ):
        answer = service.user.get("/v1/jobs", params={"q": query})
        assert answer.status_code == 200, answer.text
        assert [each["id"] for each in answer.json()["jobs"]] == [each["id"] for each in found]
    if "=" not in name:  # it ends the name in this filter
        answer = service.user.get("/v1/jobs", params={"label": f"{name}=two words"})
        assert [each["id"] for each in answer.json()["jobs"]] == [job["id"]]
    assert other["id"]


def test_a_name_that_is_not_closed_is_refused_at_its_place(service: InProcess) -> None:
    answer = service.user.get("/v1/jobs", params={"q": 'state:queued label."my team:audio'})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == "syntax"

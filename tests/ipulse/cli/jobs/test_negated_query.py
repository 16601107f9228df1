"""A query of `ipulse list` that begins with `-` is no option."""

from __future__ import annotations

import pytest

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run


@pytest.mark.parametrize(
    "begin", ["-state:succeeded", '-"some words"', "-(state:failed OR tag:x)", "-priority > 5"]
)
def test_it_may_begin_with_a_negated_term(client: Connection, run: Run, begin: str) -> None:
    job = client.submit({**SPEC, "name": "negated"})
    for arguments in ((begin, f"id:{job.id}"), (f"{begin} id:{job.id}",)):
        ran = run("list", *arguments, "--json")
        assert [each["id"] for each in ran.json["jobs"]] == [job.id]
    assert run("list", f"-state:{job.state.value} id:{job.id}", "--json").json["jobs"] == []
    assert run("list", "-x").code == 2
    client.job(job.id).cancel()

"""submit and edit: tags, groups and notes of jobs."""

from __future__ import annotations

import json

from ipulse.client import Connection
from tests.ipulse.cli.conftest import SPEC, Run


def test_attributes_are_given_at_submission_and_edited(client: Connection, run: Run) -> None:
    options = ["--tag", "quick", "--tag", "a", "--group", "g-1", "--note", "First."]
    done = run("submit", "-", *options, "--json", stdin=json.dumps(SPEC))
    assert (done.json["tags"], done.json["group"]) == (["a", "quick"], "g-1")
    first, second = done.json["id"], client.submit(SPEC).id
    edited = run("edit", first, second, "--tag", "b", "--untag", "a", "--json")
    assert [job["tags"] for job in edited.json["jobs"]] == [["b", "quick"], ["b"]]
    run("edit", second, "--name", "renamed", "--group", "g-2", "--priority", "-7", "--note", "N")
    job = client.job(second)
    assert (job.name, job.json["group"], job.json["priority"]) == ("renamed", "g-2", -7)
    assert "notes" in run("status", second).out
    run("edit", second, "--group", "")
    assert client.job(second).json["group"] is None
    for job_id in (first, second):
        client.job(job_id).cancel()


def test_what_cannot_be_edited_is_said(client: Connection, run: Run) -> None:
    job_id = client.submit(SPEC).id
    assert run("edit", job_id).code == 2
    assert run("edit", "--tag", "a").code == 2
    assert run("edit", job_id, job_id, "--name", "x").code == 2
    wrong = run("edit", job_id, "--tag", "Not a tag")
    assert wrong.code == 2
    assert "/add_tags/0" in wrong.err
    client.job(job_id).cancel()

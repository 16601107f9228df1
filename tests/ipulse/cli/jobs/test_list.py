"""list: a query, columns, an order, CSV."""

from __future__ import annotations

import csv
import io
import secrets

import pytest

from ipulse.client import Connection
from ipulse_core.errors import InvalidInput
from tests.ipulse.cli.conftest import SPEC, Run


@pytest.fixture
def group(client: Connection) -> str:
    """A group of three jobs with seeds 1 to 3, which have ended."""
    name = f"g{secrets.token_hex(6)}"
    for seed in (1, 2, 3):
        job = client.submit({**SPEC, "seed": seed, "name": f'"{seed}", x'}, group=name)
        client.job(job.id).cancel()
    return name


def test_a_query_and_columns_make_a_table(run: Run, group: str) -> None:
    options = ["--columns", "name,seed,test_accuracy", "--sort", "-seed"]
    lines = run("list", f"group:{group}", "seed>1", *options).out.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "SEED", "TEST_ACCURACY"],
        ['"3",', "x", "3"],
        ['"2",', "x", "2"],
    ]


def test_csv_and_json_have_plain_values(run: Run, group: str) -> None:
    done = run("list", f"group:{group}", "--columns", "name,seed,group", "--sort", "seed", "--csv")
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[:2] == [["name", "seed", "group"], ['"1", x', "1", group]]
    listed = run("list", f"group:{group}", "--columns", "seed", "--limit", "2", "--json").json
    assert [job["values"] for job in listed["jobs"]] == [{"seed": 3}, {"seed": 2}]
    header = run("list", f"group:{group}", "--csv").out.splitlines()[0]
    assert header.startswith("id,name,state,")


def test_a_quoted_label_is_a_column_and_an_order(run: Run, client: Connection) -> None:
    name = f"l{secrets.token_hex(6)}"
    for value in ("x", "y"):
        client.submit({**SPEC, "name": name, "metadata": {"a, b: ü": value}})
    label = 'label."a, b: ü"'
    listed = run("list", f"name:{name}", "--columns", f"name,{label}", "--sort", label, "--csv")
    rows = list(csv.reader(io.StringIO(listed.out)))
    assert rows == [["name", label], [name, "x"], [name, "y"]]
    assert run("list", f'name:{name} {label}:"y"*', "--columns", label, "--csv").out.count("y") == 1


def test_a_wrong_query_says_where(run: Run, client: Connection, group: str) -> None:
    wrong = run("list", f"group:{group} sed:1")
    assert wrong.code == 2
    assert "sed" in wrong.err
    assert "did you mean" in wrong.err
    assert run("list", "--csv", "--json").code == 2
    with pytest.raises(InvalidInput) as caught:
        client.jobs("state:").count()
    assert caught.value.problems[0].code == "syntax"
    assert client.jobs(f"group:{group}").count() == 3


def test_an_unknown_column_is_refused_with_its_neighbours(run: Run, group: str) -> None:
    wrong = run("list", f"group:{group}", "--columns", "name,sed")
    assert wrong.code == 2
    assert not wrong.out
    assert "`sed`" in wrong.err
    assert "did you mean seed" in wrong.err
    several = run("list", "--columns", "nothing,none,label.team,test_accuracy.best", "--csv")
    assert several.code == 2
    assert ["`nothing`" in several.err, "`none`" in several.err] == [True, True]
    assert "label.team" not in several.err

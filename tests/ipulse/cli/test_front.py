"""The first help, former names, and what a command imports."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ipulse.cli.command_list import COMMANDS, GROUPS, MORE, SECTIONS
from ipulse.client import Connection
from ipulse.deprecated import FORMER_COMMANDS, translated_command
from tests.ipulse.live_service import Agent, LiveService

from .conftest import FILES, SPEC, Run, environment

MODELS = ("pydantic", "ipulse.spec", "ipulse.experiment", "ipulse.sweeps", "yaml", "numpy")


class TestHelp:
    def test_every_command_has_one_place_in_at_most_25_rows(self) -> None:
        shown = [name for lines in SECTIONS.values() for name in lines]
        named = [name for names in MORE.values() for name in names]
        assert sorted([*shown, *named]) == sorted([*COMMANDS, *GROUPS])
        assert len(shown) + len(MORE) <= 25

    def test_no_row_is_cut_or_too_long(self, offline: Run) -> None:
        text = offline("--help").out
        assert "..." not in text.partition("Run:")[2]
        for lines in SECTIONS.values():
            assert all(f" {summary}\n" in text for summary in lines.values())
        assert max(map(len, text.splitlines())) <= 80


class TestFormerNames:
    @pytest.mark.parametrize(
        ("typed", "today"),
        [
            ("wait 5f3a --timeout 3", "watch --quiet 5f3a --timeout 3"),
            ("-q artifacts latest --json", "-q download --list latest --json"),
            ("priority 1085 -10 --json", "edit --priority=-10 1085 --json"),
            ("priority 1085 10 --home 5", "edit --priority=10 1085 --home 5"),
            ("agent revoke 5f3a --yes", "agent token --revoke=5f3a --yes"),
            ("agent revoke", "agent token"),
            ("ops list", "op list"),
            ("version --json", "--version --json"),
        ],
    )
    def test_they_are_todays_commands(self, typed: str, today: str) -> None:
        words, instead = translated_command(typed.split())
        assert words == today.split()
        assert instead is not None

    def test_todays_names_stay(self) -> None:
        assert not {*FORMER_COMMANDS} & {*COMMANDS, *GROUPS}
        for words in (["list", "wait"], ["--version"], [], ["agent", "list"]):
            assert translated_command(words) == (words, None)

    def test_they_work_and_say_the_new_name(
        self, run: Run, client: Connection, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        ran = run("priority", job.id, "7", "--json")
        assert ran.json["priority"] == 7
        assert "ipulse edit --priority" in ran.err
        agent.claim(job.id).run(FILES, [])
        assert run("wait", job.id).code == 0
        listed = run("artifacts", job.id, "--json").json["artifacts"]
        assert {file["name"] for file in listed} == {*FILES}


class TestImports:
    """Processor time depends on the machine; the modules on which it depends do not."""

    @pytest.mark.parametrize(
        ("arguments", "absent"),
        [
            (["--version"], ("typer", "rich", "httpx", *MODELS)),
            (["--help"], ("httpx", "ipulse.client.blocking", *MODELS)),
            (["list"], MODELS[1:]),  # Typer imports pydantic
            (["status", "latest"], MODELS[1:]),
            (["cancel", "latest"], MODELS[1:]),
        ],
        ids=lambda value: value[0],
    )
    def test_a_command_imports_what_it_needs(
        self, arguments: list[str], absent: tuple[str, ...], service: LiveService, client: Any
    ) -> None:
        client.submit(SPEC)
        program = (
            "import sys, ipulse.cli\n"
            f"code = ipulse.cli.main({arguments!r})\n"
            f"print(*({{*{absent!r}}} & {{*sys.modules}}), file=sys.stderr)\n"
            "sys.exit(code)\n"
        )
        env = environment(IPULSE_HOME=str(service.home))
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stderr.split() == []


class TestErrors:
    def test_a_wrong_path_is_wrong_usage(self, offline: Run, tmp_path: Any) -> None:
        ran = offline("verify", str(tmp_path / "none.zip"))
        assert ran.code == 2

    def test_an_unknown_metric_is_an_error(
        self, run: Run, client: Connection, agent: Agent
    ) -> None:
        job = client.submit(SPEC)
        attempt = agent.claim(job.id)
        assert run("metrics", job.id, "--names", "accuracy").code == 0, "there are none yet"
        attempt.run(FILES, [])
        assert run("compare", job.id, "--metrics", "accurasy").code == 2

    def test_an_option_is_named_as_it_is_typed(self, run: Run, client: Connection) -> None:
        job = client.submit(SPEC)
        ran = run("edit", job.id, job.id[:9], "--name", "x")
        assert (ran.code, ran.out) == (2, "")
        usage = run("list", "--colour", "--json")
        assert usage.json["error"]["code"] == "usage"
        assert usage.err.startswith("ipulse: No such option: --colour")

    @pytest.mark.parametrize(
        ("words", "place"),
        [
            ("list state:foo", "the query: "),
            ("compare --query state:foo", "--query: "),
            ("compare latest --metrics accurasy", "--metrics: "),
            ("cancel --query state:foo", "--query: "),
        ],
    )
    def test_a_problem_has_the_place_in_the_command(
        self, run: Run, client: Connection, words: str, place: str
    ) -> None:
        client.submit(SPEC)
        ran = run(*words.split())
        assert ran.code == 2
        assert f"\n  {place}" in ran.err

    def test_an_unknown_column_has_a_short_message(self, run: Run, client: Connection) -> None:
        client.submit(SPEC)
        ran = run("list", "--columns", "lerning_rate")
        assert ran.code == 2
        assert len(ran.err) < 200
        assert "learning_rate" in ran.err
        assert "known are: state" in run("list", "--columns", "qqqq").err, "no name is like it"

    def test_shapes_that_only_the_data_have_are_unknown(self, offline: Run) -> None:
        spec = "{version: 1, data: {kind: npz, dataset: mine}, network: {layers: [{neurons: 8}]}}"
        ran = offline("validate", "-", stdin=spec)
        assert ran.code == 0
        assert "? - 8 - ?" in ran.out


class TestNames:
    def test_a_name_for_one_job(self, run: Run, spec_file: Any, client: Connection) -> None:
        first = run("submit", str(spec_file), "--name", "größe: 'x'", "--json").json
        assert first["name"] == "größe: 'x'"
        again = run("clone", first["id"], "--name", "again", "--json").json
        assert (again["name"], again["spec"]["name"]) == ("again", "again")
        refused = run("submit", str(spec_file), str(spec_file), "--name", "x")
        assert refused.code == 2
        assert "--name: " in refused.err or "one name" in refused.err


def test_the_table_of_a_paper(run: Run, client: Connection, agent: Agent) -> None:
    for seed in (1, 2):
        job = client.submit({**SPEC, "seed": seed}, group="paper")
        agent.claim(job.id).run(FILES, [])
    ran = run("table", "group:paper")
    assert ran.code == 0, ran.err
    assert "**97.5 ± 0.0** | 2 |" in ran.out
    assert run("table", "group:paper", "--latex").out.count("\\toprule") == 1
    assert run("table", "group:nobody").code == 3
    assert run("table", "group:paper", "--csv", "--latex").code == 2

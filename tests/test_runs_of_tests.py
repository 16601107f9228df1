"""`make verify` continues where it ended; `scripts/test` and `scripts/rotation` judge failures."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LEDGER = "tests/verify_ledger.csv"

# Stands for pytest: the part `emulator` fails while there is a file FAILS, and a case of a slice;
# run alone, a test fails where there is a file FAILS_ALONE.
PYTEST = """#!/bin/bash
if [[ $1 == -c ]]; then exec python3 "$@"; fi
echo "$*" >>"$CALLS"
cache=$(grep -oE 'cache_dir=[^ ]+' <<<"$*" | cut -d= -f2)
if [[ $* == *--session-timeout* ]]; then
    if [[ -e FAILS && " $* " == *" tests/emulator "* ]]; then
        mkdir -p "$cache/v/cache"
        echo '{"tests/emulator/test_a.py::test[1]": true}' >"$cache/v/cache/lastfailed"
        exit 1
    fi
    exit 5
fi
if [[ $* == *"::"* || $* == *--last-failed* ]]; then [[ ! -e FAILS_ALONE ]]; exit; fi
if [[ -e FAILS && " $* " == *" tests/emulator "* && $* != *--ignore* ]]; then
    for n in $(seq "$(<FAILS)"); do echo "FAILED tests/emulator/test_a.py::test[$n] - why"; done
    echo "== 2 failed, 1 passed, 1 error in 1.00s =="
    exit 1
fi
echo "== 3 passed in 1.00s =="
"""
SETUP = """#!/bin/bash
cd "$(dirname "$0")/.." && mkdir -p .venv/bin && cp pytest .venv/bin/python
"""


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir(parents=True)
        (folder / "tests").mkdir()
        for name in ("test", "rotation"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
        (folder / LEDGER).write_text("commit,date,part,seconds,failures\n")
        for name, text in (("pytest", PYTEST), ("scripts/setup", SETUP)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / ".gitignore").write_text(".venv\nFAILS\ncalls\n")
        self.run("git", "init", "-q", "-b", "work")
        self.commit("first")
        self.run("scripts/setup")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        names = {
            f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        environment = {
            **os.environ,
            **dict.fromkeys(names, "tests"),
            "CALLS": str(self.folder / "calls"),
        }
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def commit(self, message: str) -> None:
        self.run("git", "add", ".")
        self.run("git", "commit", "-q", "--allow-empty", "-m", message)

    def rows(self) -> dict[str, str]:
        """Each part's last failures."""
        lines = (self.folder / LEDGER).read_text().splitlines()[1:]
        return {line.split(",")[2]: line.split(",")[4] for line in lines}

    def calls(self) -> int:
        calls = (self.folder / "calls").read_text().splitlines()
        (self.folder / "calls").unlink()
        return len(calls)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


class TestVerify:
    def test_runs_the_parts_that_did_not_pass_at_this_commit(self, checkout: Checkout) -> None:
        (checkout.folder / "FAILS").touch()
        assert checkout.run("scripts/test", "--verify").returncode == 1
        rows = checkout.rows()
        assert rows.pop("emulator") == "3"
        assert set(rows.values()) == {"0"}
        assert checkout.calls() == len(rows) + 1

        (checkout.folder / "FAILS").unlink()
        assert checkout.run("scripts/test", "--verify", "--resume").returncode == 0
        assert checkout.calls() == 1
        assert checkout.rows()["emulator"] == "0"
        checkout.commit("next")
        checkout.run("scripts/test", "--verify", "--resume")
        assert checkout.calls() == len(rows) + 1

    def test_what_measures_times_runs_last_and_by_itself(self, checkout: Checkout) -> None:
        checkout.run("scripts/test", "--verify")
        *others, last = (checkout.folder / "calls").read_text().splitlines()
        assert "verify and alone" in last
        assert all("not alone" in call for call in others)

    def test_a_part_of_a_part_is_not_recorded(self, checkout: Checkout) -> None:
        checkout.run("scripts/test", "--verify", "-k", "some")
        checkout.run("scripts/test")
        assert checkout.rows() == {}

    def test_the_age_of_a_success_is_printed(self, checkout: Checkout) -> None:
        checkout.run("scripts/test", "--verify", "--part=emulator")
        checkout.commit("second")
        lines = checkout.run("scripts/test", "--ledger").stdout.splitlines()
        assert "make verify, ops: no success on record" in lines
        assert any("emulator: passed 1 commits and 0 days ago" in line for line in lines), lines


class TestTest:
    @pytest.mark.parametrize(
        ("failures", "fails_alone", "status"), [(2, False, 0), (2, True, 1), (9, False, 1)]
    )
    def test_a_few_failed_tests_run_once_more_alone(
        self, checkout: Checkout, failures: int, fails_alone: bool, status: int
    ) -> None:
        (checkout.folder / "FAILS").write_text(f"{failures}")
        if fails_alone:
            (checkout.folder / "FAILS_ALONE").touch()
        done = checkout.run("scripts/test")
        assert done.returncode == status, done
        named = [line for line in done.stdout.splitlines() if "test_a.py::test[" in line]
        assert len(named) >= failures  # whoever reads the output sees them
        assert ("every part passed" in done.stdout) == (status == 0)

    @pytest.mark.parametrize(("fails_alone", "status"), [(False, 0), (True, 1)])
    def test_so_do_those_of_verify_and_the_ledger_tells_it(
        self, checkout: Checkout, fails_alone: bool, status: int
    ) -> None:
        (checkout.folder / "FAILS").write_text("12")
        if fails_alone:
            (checkout.folder / "FAILS_ALONE").touch()
        assert checkout.run("scripts/test", "--verify").returncode == status
        assert (checkout.rows()["emulator"] == "0") == (status == 0)


class TestRotation:
    @pytest.mark.parametrize(
        ("fails_alone", "status", "said"),
        [
            ("at the base", 0, "known at"),
            ("now", 1, "failed, and not at"),
            ("never", 0, "passed only when it ran alone"),
        ],
    )
    def test_only_new_failures_fail(
        self, checkout: Checkout, fails_alone: str, status: int, said: str
    ) -> None:
        if fails_alone == "at the base":
            (checkout.folder / "FAILS_ALONE").touch()
        checkout.commit("base")
        checkout.commit("change")
        if fails_alone == "now":
            (checkout.folder / "FAILS_ALONE").touch()
        (checkout.folder / "FAILS").touch()
        done = checkout.run("scripts/rotation")
        assert done.returncode == status, done
        assert said in done.stdout.splitlines()[-1]
        assert "tests/emulator/test_a.py" in done.stdout.splitlines()[-1]

    def test_eight_commits_run_every_slice(self, checkout: Checkout) -> None:
        slices = set()
        for number in range(8):
            checkout.commit(str(number))
            slices.add(checkout.run("scripts/rotation").stdout.splitlines()[0].split(",")[0])
        assert len(slices) == 8

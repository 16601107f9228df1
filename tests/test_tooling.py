"""The two commands set everything up once, from locks, and say in one line what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The only tools that the set-up may need in addition to Python and the compiler.
TOOLS = ["bash", "basename", "cat", "cp", "dirname", "flock", "grep", "head", "mkdir", "mktemp"]
TOOLS += ["rm", "sha256sum"]

# Stands for every program that the set-up starts: it writes down how it was called, and makes a
# virtual environment the way `python -m venv` does, with itself as the interpreter.
RECORDER = """#!/bin/bash
echo "$(basename "$0") $*" >>"$CALLS"
case "$*" in
    --version) echo "Python ${FAKE_VERSION:-3.11.2}" ;;
    *"import sys"*) [[ -z ${FAKE_VERSION-} ]] ;;
    *"import ensurepip"*) [[ -z ${FAKE_NO_VENV-} ]] ;;
    *"-m venv"*)
        mkdir -p .venv/bin
        cp "$0" .venv/bin/python
        cp "$0" .venv/bin/uv
        ;;
    *) if [[ -n ${FAKE_OFFLINE-} ]]; then echo "error: no route to host"; exit 1; fi ;;
esac
"""


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


# Extras of `ipulse` for the calls of docs/guides/python.md.
GUIDES = ("notebook", "parquet", "tensorboard")


class TestLocks:
    locks = sorted(path.stem for path in (ROOT / "requirements").glob("*.txt"))

    @pytest.mark.parametrize("lock", locks)
    def test_pins_every_package_by_digest_and_names_no_index(self, lock: str) -> None:
        text = (ROOT / "requirements" / f"{lock}.txt").read_text("utf-8")
        entries = re.split(r"\n(?=[a-z])", text)
        assert len(entries) == len(pins(lock))
        for entry in entries:
            assert "--hash=sha256:" in entry, entry
        assert "://" not in text
        assert "-index" not in text

    def test_every_environment_has_the_versions_of_the_runtime(self) -> None:
        runtime = pins("runtime")
        assert runtime.items() <= pins("dev").items()
        # The service's image reads users' files with the newest HDF5; TensorFlow has an older one.
        service = {name: pin for name, pin in pins("service").items() if name != "h5py"}
        assert service.items() <= runtime.items()
        assert pins("worker-cpu").items() <= runtime.items()

    def test_every_dependency_of_every_package_is_locked(self) -> None:
        files = [ROOT / "pyproject.toml", *sorted(ROOT.glob("*/pyproject.toml"))]
        projects = [tomllib.loads(file.read_text("utf-8"))["project"] for file in files]
        ours = {project["name"] for project in projects}
        for project in projects:
            extras = project.get("optional-dependencies", {})
            extra = [requirement for part in extras.values() for requirement in part]
            # The environment of `make up` also has what the guides' code imports.
            guides = [name for part in GUIDES for name in extras.get(part, [])]
            runtime = [*project["dependencies"], *guides]
            for lock, requirements in (("runtime", runtime), ("dev", extra)):
                # This lock is of Python 3.11; older ones need more.
                names = {
                    re.match(r"[a-zA-Z0-9-]+", requirement)[0].lower()
                    for requirement in requirements
                    if "python_version <" not in requirement
                }
                assert names - ours <= set(pins(lock)), (project["name"], lock)


class TestHelp:
    def test_lists_every_command_of_the_makefile(self) -> None:
        makefile = (ROOT / "Makefile").read_text("utf-8")
        commands = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())
        done = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True)
        listed = set(re.findall(r"^make ([\w-]+) +\S", done.stdout, re.MULTILINE))
        assert listed == commands - {"runtime", "dev"}


class TestSetup:
    @pytest.fixture
    def checkout(self, tmp_path: Path) -> Path:
        """A copy of what the set-up reads, and a PATH with nothing but its tools."""
        checkout = tmp_path / "checkout"
        (checkout / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "setup", checkout / "scripts")
        shutil.copytree(ROOT / "requirements", checkout / "requirements")
        for project in (ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml")):
            copy = checkout / project.relative_to(ROOT)
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(project, copy)
        tools = tmp_path / "tools"
        tools.mkdir()
        for tool in TOOLS:
            (tools / tool).symlink_to(shutil.which(tool))
        for program in ("python3", "g++"):
            (tools / program).write_text(RECORDER)
            (tools / program).chmod(0o755)
        return checkout

    def run(self, checkout: Path, what: str, **extra: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(checkout.parent / "tools"),
            "HOME": str(checkout.parent),
            "TMPDIR": str(checkout.parent),
            "CALLS": str(checkout.parent / "calls"),
            **extra,
        }
        return subprocess.run(
            [checkout / "scripts" / "setup", what],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self, checkout: Path) -> str:
        """Return the commands since the last call, one a line."""
        calls = checkout.parent / "calls"
        text = calls.read_text() if calls.exists() else ""
        calls.write_text("")
        return text

    def test_installs_the_lock_by_digest_and_then_the_project(self, checkout: Path) -> None:
        assert self.run(checkout, "runtime").returncode == 0
        installs = re.findall(r"pip install .*", self.calls(checkout))
        assert len(installs) == 3
        assert "--require-hashes -r requirements/bootstrap.txt" in installs[0]
        assert "--require-hashes -r requirements/runtime.txt" in installs[1]
        assert "--no-deps --no-build-isolation" in installs[2]
        folders = {path.parent.name for path in checkout.glob("*/pyproject.toml")} | {"."}
        assert set(re.findall(r"-e \./(\S+)", installs[2])) == folders

    def test_second_run_starts_nothing(self, checkout: Path) -> None:
        self.run(checkout, "runtime")
        self.calls(checkout)
        assert self.run(checkout, "runtime").returncode == 0
        assert self.calls(checkout) == ""

    def test_the_tools_of_the_tests_include_the_runtime(self, checkout: Path) -> None:
        self.run(checkout, "dev")
        self.calls(checkout)
        assert self.run(checkout, "runtime").returncode == 0
        assert self.calls(checkout) == ""

    def test_a_changed_lock_is_installed_into_the_same_environment(self, checkout: Path) -> None:
        self.run(checkout, "runtime")
        self.calls(checkout)
        with (checkout / "requirements" / "runtime.txt").open("a") as lock:
            lock.write("# changed\n")
        assert self.run(checkout, "runtime").returncode == 0
        calls = self.calls(checkout)
        assert "-r requirements/runtime.txt" in calls
        assert "-m venv" not in calls

    def test_a_moved_checkout_gets_a_new_environment(self, checkout: Path) -> None:
        self.run(checkout, "runtime")
        self.calls(checkout)
        moved = checkout.rename(checkout.parent / "moved")
        assert self.run(moved, "runtime").returncode == 0
        assert "-m venv --clear" in self.calls(moved)

    def test_an_interrupted_run_is_taken_up_again(self, checkout: Path) -> None:
        assert self.run(checkout, "runtime", FAKE_OFFLINE="1").returncode == 1
        self.calls(checkout)
        assert self.run(checkout, "runtime").returncode == 0
        assert "-r requirements/runtime.txt" in self.calls(checkout)

    @pytest.mark.parametrize(
        ("missing", "hint"),
        [
            ("g++", "a C++ compiler is missing: sudo apt-get install g++"),
            ("python3", "Python is missing: sudo apt-get install python3 python3-venv"),
        ],
    )
    def test_a_missing_program_is_named_with_its_package(
        self, checkout: Path, missing: str, hint: str
    ) -> None:
        (checkout.parent / "tools" / missing).unlink()
        done = self.run(checkout, "runtime")
        assert done.returncode == 1
        assert done.stderr == f"IPUlse: {hint}\n"

    @pytest.mark.parametrize(
        ("extra", "hint"),
        [
            ({"FAKE_NO_VENV": "1"}, "has no venv module: sudo apt-get install python3-venv"),
            ({"FAKE_VERSION": "3.9.2"}, "3.12 or 3.13 is needed, and this is Python 3.9.2"),
        ],
    )
    def test_an_unfit_python_is_refused_in_one_line(
        self, checkout: Path, extra: dict[str, str], hint: str
    ) -> None:
        done = self.run(checkout, "runtime", **extra)
        assert done.returncode == 1
        assert hint in done.stderr
        assert done.stderr.count("\n") == 1

    def test_a_failed_download_quotes_the_complaint_and_keeps_the_rest(
        self, checkout: Path
    ) -> None:
        done = self.run(checkout, "runtime", FAKE_OFFLINE="1")
        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert "is there a network? error: no route to host" in last
        log = re.search(r"all of it: (\S+)\)", last)[1]
        assert Path(log).read_text() == "error: no route to host\n"

    def test_without_python_3_8_the_skipped_part_is_named(self, checkout: Path) -> None:
        done = self.run(checkout, "py38", PYENV_ROOT=os.devnull)
        assert done.returncode == 0
        assert "are skipped; to get one: " in done.stderr
        assert not (checkout / ".venv38").exists()

"""Template, examples and the page's examples: the commands and paths that they name work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.spec.document.template import spec_template
from tests.ipulse.cli.conftest import Ran, Run
from tests.ipulse.live_service import ROOT, LiveService
from tests.service.datasets.files import spikes

PAGE = ROOT / "service/ipulse_service/http/web/static/views/new/examples.js"
SPECS = sorted((ROOT / "examples").rglob("*.yaml"))
# Published recordings, which every worker needs in its data directory.
NEEDS_FILES = ("shd.yaml",)
SLOW = ("moving_digits.yaml",)  # its script takes seconds


def texts() -> dict[str, str]:
    """Every text that a new user begins with, by its name."""
    found = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in SPECS}
    found["template"] = spec_template("mine", "mine.yaml")
    found["template of own data"] = spec_template("mine", "mine.yaml", {"kind": "npz"})
    found |= {f"page: {name}": text for name, text in page_examples()}
    return found


def page_examples() -> Iterator[tuple[str, str]]:
    """The examples of the form of a new job."""
    source = PAGE.read_text("utf-8")
    found = re.findall(r'name: "([^"]+)",\s+title: .*?text: `(.*?)`', source, re.DOTALL)
    assert len(found) > 4
    yield from found


def commands(text: str) -> list[list[str]]:
    """The commands of comments: in backticks, in quotes, or after a colon to the end of a line."""
    comments = [line.partition("#")[2] for line in text.splitlines()]
    # A command may be broken between two lines of a comment.
    prose = " ".join(" ".join(comments).split())
    found = re.findall(r"[`\"]((?:ipulse|python) [^`\"]+)[`\"]", prose)
    for comment in comments:
        found += re.findall(r": +(ipulse [^`\"]*)$", comment)
    split = [shlex.split(command) for command in dict.fromkeys(found)]
    return [words for words in split if len(words) > 2]  # others are a command's name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the file of one's own that the texts name."""
    (tmp_path / "mine.npz").write_bytes(spikes(samples=40, steps=10, channels=8))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def token(service: LiveService) -> str:
    """A token of the owner that may submit code, whoever pushed a data set before."""
    with Connection(service.url, service.token) as client:
        return client.create_token("coder", None, 600, submit_code=True).secret


@pytest.fixture
def run(run: Run, token: str) -> Run:
    """Run a command with this token, without waiting for a job's end."""

    def run_without_watching(*arguments: str) -> Ran:
        words = [word for word in arguments if word != "--watch"]
        return run(*words, IPULSE_TOKEN=token)

    return run_without_watching


@pytest.mark.parametrize("name", texts())
def test_paths_that_a_text_names_are_in_the_repository(name: str) -> None:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    named = set(re.findall(r"\b(?:docs|examples)/[\w/.-]*\w", texts()[name]))
    assert named <= set(listed.stdout.split("\0")), "a page that `make docs` writes is not there"


def test_the_template_works_as_it_says(run: Run, client: Connection, folder: Path) -> None:
    """Its own data set first: what it says about that is done before the file is submitted."""
    assert run("init", "first").code == 0
    text = (folder / "first.yaml").read_text("utf-8")
    found = commands(text)
    assert {words[1] for words in found} == {"validate", "submit", "data", "spec"}
    [own] = re.findall(r"write data: (\{.*\})", text)
    for words in sorted(found, key=lambda words: words[1]):  # data, spec, submit, validate
        ran = run(*words[1:])
        assert ran.code == 0, (words, ran.err)
    ran = run("submit", "first.yaml", "--set", f"data={own}")
    assert ran.code == 0, ran.err
    assert client.job(ran.out.strip()).json["spec"]["data"]["dataset"].startswith("sha256:")


def test_a_template_for_a_file_works_as_it_says(run: Run, folder: Path) -> None:
    said = run("init", "second", "--data", "mine.npz").err
    text = (folder / "second.yaml").read_text("utf-8")
    hints = [shlex.split(command) for command in re.findall(r"`[^`]*(ipulse [^`]+)`", said)]
    assert [words[1] for words in hints] == ["data", "submit"]
    for words in [*hints, *(words for words in commands(text) if words[1] != "data")]:
        ran = run(*words[1:])
        assert ran.code == 0, (words, ran.err)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.verify] if path.name in SLOW else [])
        for path in SPECS
    ],
)
def test_examples_work_as_they_say(run: Run, folder: Path, path: Path) -> None:
    """Commands that upload what an example trains on run first, then it is submitted."""
    text = path.read_text("utf-8")
    for words in commands(text):
        words = [word.replace("DIR", str(folder)) for word in words]
        if words[0] == "python":
            run_script(words[1:])
        elif words[1] == "up":
            assert path.name in NEEDS_FILES, "own data are uploaded"
        else:
            ran = run(*words[1:])
            assert ran.code == 0, (words, ran.err)
            if words[1:3] == ["op", "push"]:  # other tests list all ops of this service
                assert run("op", "delete", ran.out.strip(), "--yes").code == 0
    ran = run("validate", str(path))
    assert ran.code == 0, ran.err
    if re.search(r"dataset: (mine|temporal_order|moving_digits)\b", text):
        ran = run("submit", str(path))
        assert ran.code == 0, ran.err


def run_script(words: list[str]) -> None:
    script = ROOT / words[0]
    done = subprocess.run(
        [sys.executable, str(script), *words[1:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "text"), list(page_examples()))
def test_examples_of_the_page_work_as_they_say(
    run: Run, folder: Path, name: str, text: str
) -> None:
    (folder / "page.yaml").write_text(text, "utf-8")
    for words in commands(text):
        ran: Any = run(*words[1:])
        assert ran.code == 0, (words, ran.err)
    ran = run("submit", "page.yaml")
    assert ran.code == 0, ran.err

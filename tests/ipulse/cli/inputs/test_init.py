"""`ipulse init`: a commented spec that trains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ipulse.client import Client
from ipulse.spec import parse_spec
from ipulse.spec.document.file import parse_spec_file, read_spec_file
from tests.ipulse.cli.conftest import Run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_can_be_submitted(run: Run, client: Client, folder: Path) -> None:
    ran = run("init")
    assert (ran.code, ran.out) == (0, "experiment.yaml\n")
    assert "submit experiment.yaml --watch" in ran.err
    job = client.get(run("submit", "experiment.yaml").out.strip())
    assert (job.name, job.json["spec"]["data"]["kind"]) == ("experiment", "digits")


@pytest.mark.parametrize(
    ("argument", "file", "name"),
    [
        ("wide", "wide.yaml", "wide"),
        ("wide.yml", "wide.yml", "wide"),
        ("version.2", "version.2.yaml", "version.2"),
        ('two "words": {x}', 'two "words": {x}.yaml', 'two "words": {x}'),
        ("größe.yaml", "größe.yaml", "größe"),
        ("yes", "yes.yaml", "yes"),
    ],
)
def test_the_experiment_has_the_name_of_the_file(
    offline: Run, folder: Path, argument: str, file: str, name: str
) -> None:
    ran = offline("init", argument, "--json")
    assert ran.json == {"file": str(folder / file), "name": name}
    assert read_spec_file(folder / file).spec().name == name


def test_an_existing_file_is_never_replaced(offline: Run, folder: Path) -> None:
    (folder / "mine.yaml").write_text("mine")
    (folder / "link.yaml").symlink_to(folder / "nowhere")
    for name in ("mine", "mine.yaml", "link"):
        ran = offline("init", name)
        assert (ran.code, ran.out) == (2, "")
        assert "exists" in ran.err
    assert (folder / "mine.yaml").read_text() == "mine"
    assert not (folder / "nowhere").exists()


@pytest.mark.parametrize("name", ["", ".", "/", "a\nb", "\udcff", "x" * 129, " x", "none/x"])
def test_what_is_no_name_writes_nothing(offline: Run, folder: Path, name: str) -> None:
    ran = offline("init", name, "--json")
    assert ran.code in (2, 6)
    assert ran.json["error"]["message"]
    assert list(folder.iterdir()) == []


def test_every_optional_line_is_valid(offline: Run, folder: Path) -> None:
    offline("init")
    lines = (folder / "experiment.yaml").read_text().splitlines()
    plain = parse_spec(read_spec_file(folder / "experiment.yaml").value)
    optional = [n for n, line in enumerate(lines) if re.match(r" *# (- \{)?[a-z_]+: ", line)]
    assert len(optional) > 4
    for number in optional:
        text = "\n".join(
            [*lines[:number], lines[number].replace("# ", "", 1), *lines[number + 1 :]]
        )
        assert parse_spec_file(text.encode(), lines[number]).spec() != plain


def test_the_data_set_in_a_comment_is_valid(offline: Run, folder: Path) -> None:
    offline("init")
    [data] = re.findall(r"\{kind: npz.*\}", (folder / "experiment.yaml").read_text())
    ran = offline("validate", "experiment.yaml", "--set", f"data={data}", "--json")
    assert ran.json["spec"]["data"]["name"] == "mine"

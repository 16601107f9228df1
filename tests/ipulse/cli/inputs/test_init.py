"""`ipulse init`: a commented spec that trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse.client import Connection
from ipulse.spec import parse_spec
from ipulse.spec.document.example import EXAMPLES, ExampleName, example_path
from ipulse.spec.document.file import parse_spec_file, read_spec_file
from tests.ipulse.cli.conftest import Run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_can_be_submitted(run: Run, client: Connection, folder: Path) -> None:
    ran = run("init")
    assert (ran.code, ran.out) == (0, "experiment.yaml\n")
    assert "submit experiment.yaml --watch" in ran.err
    job = client.job(run("submit", "experiment.yaml").out.strip())
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
    assert ran.json["spec"]["data"]["dataset"] == "mine"


RNG = np.random.default_rng(3)
LABELS = np.arange(60) % 3


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        (
            {"spikes": RNG.random((60, 25, 8)) < 0.2, "labels": LABELS},
            {"channels": 8, "classes": 3, "steps": 25, "step_ms": 1.0},
        ),
        (
            {"values": RNG.random((60, 4, 5)), "labels": LABELS},
            {"channels": 20, "classes": 3, "steps": 40},
        ),
        (
            {"spikes": RNG.random((60, 25, 8)) < 0.2, "targets": RNG.random((60, 25, 2))},
            {"channels": 8, "outputs": 2, "steps": 25},
        ),
        (
            {
                "event_samples": np.arange(600) % 60,
                "event_times_ms": np.linspace(0, 780.5, 600),
                "event_channels": np.arange(600) % 12,
                "labels": LABELS,
            },
            {"channels": 12, "classes": 3, "steps": 98, "step_ms": 8.0},
        ),
    ],
    ids=["spikes", "values", "targets", "events"],
)
@pytest.mark.sample(2)
def test_the_shapes_of_a_file_are_read_and_its_job_is_accepted(
    run: Run, client: Connection, folder: Path, arrays: dict[str, Any], expected: dict[str, Any]
) -> None:
    np.savez(folder / "mine.npz", **arrays)
    ran = run("init", "of-mine", "--data", "mine.npz")
    assert ran.code == 0, ran.err
    assert "data push mine.npz" in ran.err
    data = read_spec_file(folder / "of-mine.yaml").spec().data
    assert {name: getattr(data, name) for name in expected} == expected
    assert run("data", "push", "mine.npz").code == 0
    job = client.job(run("submit", "of-mine.yaml").out.strip())
    assert job.json["spec"]["data"]["dataset"].startswith("sha256:")


@pytest.mark.parametrize(
    ("content", "word"), [(b"no data", "none of these"), (b"", "none of these")]
)
@pytest.mark.sample(1)
def test_a_file_that_is_no_data_set_is_refused(
    offline: Run, folder: Path, content: bytes, word: str
) -> None:
    (folder / "mine.npz").write_bytes(content)
    ran = offline("init", "--data", "mine.npz")
    assert ran.code == 2
    assert "mine.npz" in ran.err
    assert word in ran.err
    assert not (folder / "experiment.yaml").exists()


def test_arrays_of_other_names_are_named(offline: Run, folder: Path) -> None:
    np.savez(folder / "mine.npz", x_train=np.zeros((4, 2)))
    ran = offline("init", "--data", "mine.npz")
    assert ran.code == 2
    assert "x_train" in ran.err
    assert "spikes" in ran.err


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_written_as_it_is(offline: Run, folder: Path, name: ExampleName) -> None:
    ran = offline("init", "mine", "--example", name, "--json")
    assert ran.code == 0, ran.err
    assert (folder / "mine.yaml").read_bytes() == example_path(name).read_bytes()
    assert read_spec_file(folder / "mine.yaml").spec().name == ran.json["name"]


def test_unknown_examples_and_contradictions_are_refused(offline: Run, folder: Path) -> None:
    ran = offline("init", "--example", "digit")
    assert ran.code == 2
    assert "digits" in ran.err
    (folder / "mine.npz").write_bytes(b"")
    assert offline("init", "--example", "digits", "--data", "mine.npz").code == 2
    assert not (folder / "experiment.yaml").exists()


def test_a_folder_of_data_is_refused_with_the_command_for_it(offline: Run, folder: Path) -> None:
    (folder / "my data").mkdir()
    ran = offline("init", "exp.yaml", "--data", "my data")
    assert ran.code == 2
    assert "ipulse data push 'my data'" in ran.err
    assert not (folder / "exp.yaml").exists()

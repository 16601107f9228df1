"""Specs of earlier releases are raised to what the models make of them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ipulse.models.partial_json import chosen_json
from ipulse.spec import ExperimentSpec, parse_job_spec, spec_to_json
from ipulse.spec.document.file import read_spec_file
from ipulse.spec.part_table import PATH, table
from ipulse_core import strict_json
from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.versions import lower
from ipulse_core.spec.upgrade import chosen, upgrade
from tests.ipulse.spec_documents import changed, minimal
from tests.ipulse.strategies import documents

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = [
    *sorted((ROOT / "examples").glob("*.yaml")),
    ROOT / "examples/poplar/leaky_neurons.yaml",
]

HOMES = sorted((ROOT / "tests/service/upgrade/homes").glob("*-sqlite.tar.xz"))
# The digests of what the stored jobs chose, the same in every release. A checkpoint has such a
# digest, and resumes only a job with the same.
KEYS = {
    *("1c3a090d9476a92b", "45c2456890788f55", "93a04122377fd991", "951e3a70ce0f9cc5"),
    "f57cec8e67d25980",
}


def stored_specs(archive: Path, folder: Path) -> list[dict[str, Any]]:
    """Returns the specs in a home of a release: as they were sent, and as they were stored."""
    with tarfile.open(archive) as content:
        content.extractall(folder)  # noqa: S202 - our own archive; Python 3.11.2 has no filters
    with closing(sqlite3.connect(folder / "ipulse.db")) as database:
        stored = [json.loads(text) for (text,) in database.execute("SELECT spec FROM jobs")]
    sent = [job["spec"] for job in json.loads((folder / "known.json").read_text())["jobs"]]
    assert stored
    assert sent
    return [*stored, *sent]


def check(document: dict[str, Any]) -> str:
    """Asserts that a document is raised as the models do; returns the digest of its choices."""
    spec = parse_job_spec(document)
    before = strict_json.dumps(document)
    raised = upgrade(document)
    assert json.dumps(raised) == json.dumps(spec_to_json(spec))  # the order of fields as well
    assert strict_json.dumps(chosen(raised)) == strict_json.dumps(chosen_json(spec))
    assert upgrade(raised) == raised
    assert strict_json.dumps(document) == before
    return hashlib.sha256(strict_json.dumps(chosen(raised)).encode()).hexdigest()


def test_the_table_has_the_fields_of_the_models() -> None:
    assert PATH.read_text("utf-8") == table(), "run python -m ipulse.spec.part_table"


@given(documents())
def test_a_document_gets_the_defaults_of_the_models(
    pair: tuple[dict[str, Any], ExperimentSpec],
) -> None:
    check(json.loads(json.dumps(pair[0])))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_gets_the_defaults_of_the_models(example: Path) -> None:
    document = read_spec_file(example).value
    if example.parent.name == "poplar":
        document["package"] = "sha256:" + "0" * 64  # where a folder is in the file
    check(lower(document))


@pytest.mark.parametrize("archive", HOMES, ids=lambda path: path.name.partition("-")[0])
def test_specs_of_a_release_mean_what_they_meant(archive: Path, tmp_path: Path) -> None:
    found = {check(document) for document in stored_specs(archive, tmp_path)}
    assert {key[:16] for key in found} == KEYS


def test_early_stopping_watches_the_validation_part_if_there_is_one() -> None:
    stopping = {"training": {"early_stopping": {}}}
    check({**minimal(), **stopping})
    check({**minimal(), **stopping, "data": {"kind": "digits", "validation": 0.2}})


@pytest.mark.parametrize(
    ("place", "value", "code"),
    [
        ("/network/layers/0/of_tomorrow", 1, "unknown_field"),
        ("/network/layers/0/kind", "of_tomorrow", "not_a_choice"),
        ("/network/reset", "of_tomorrow", "not_a_choice"),
        ("/version", 3, "not_a_choice"),
        ("/kind", "of_tomorrow", "not_a_choice"),
    ],
)
def test_what_a_later_release_may_say_is_refused(place: str, value: Any, code: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        upgrade(changed(place, value))
    assert [(problem.pointer, problem.code) for problem in caught.value.problems] == [(place, code)]


@pytest.mark.parametrize("document", [None, [], {"version": 1}, {"version": 1, "network": {}}])
def test_what_is_no_spec_is_refused(document: Any) -> None:
    with pytest.raises(InvalidSpec):
        upgrade(document)

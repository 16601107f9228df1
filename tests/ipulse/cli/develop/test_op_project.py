"""`ipulse op new` and `ipulse op test`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.ipulse.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def project(offline: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "ops" / "scale"
    ran = offline("op", "new", "scale_spikes", "--to", str(folder), "--json")
    assert ran.code == 0, ran.err
    assert {str(path) for path in folder.iterdir()} == set(ran.json["files"])
    return folder


def change(folder: Path, file: str, before: str, after: str) -> None:
    text = (folder / file).read_text()
    assert before in text
    (folder / file).write_text(text.replace(before, after))


def test_a_new_op_is_as_its_reference(offline: Run, project: Path) -> None:
    ran = offline("op", "test", str(project), "--seed", "3", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["is_good"] is True
    arrays = {one["what"]: one["error"] for one in ran.json["comparisons"]}
    assert arrays.keys() == {"output product", "gradient of x", "gradient of y"}
    assert ran.json["cycles"] > 0
    files = [path for path in project.iterdir() if path.is_file()]
    assert "multiply_op" not in "".join(path.read_text() for path in files)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("file", "before", "after", "wrong"),
    [
        ("codelets.cpp", "a[i] * b[i]", "a[i] * b[i] + 0.01f", {"output", "gradient"}),
        ("scale_spikes.cpp", "forwardInputs[0]", "forwardInputs[1]", {"gradient of y"}),
    ],
)
def test_a_wrong_op_names_what_differs(
    offline: Run, project: Path, file: str, before: str, after: str, wrong: set[str]
) -> None:
    change(project, file, before, after)
    ran = offline("op", "test", str(project), "--json")
    assert ran.code == 1
    bad = [one["what"] for one in ran.json["comparisons"] if not one["is_good"]]
    assert bad
    assert all(any(what.startswith(name) for name in wrong) for what in bad)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("codelets.cpp", "i < a.size()", "i <= a.size()", "wrote outside of field 'product'"),
        ("codelets.cpp", "a[i] * b[i]", "a[i] * nothing", "nothing"),
        ("reference.py", "def forward", "def backward", "does not define forward"),
        ("reference.py", "[x * y]", "[x[0] * y[0]]", "(8,)"),
        ("reference.py", "[x * y]", "[x * z]", "NameError"),
    ],
)
def test_broken_code_is_explained(
    offline: Run, project: Path, file: str, before: str, after: str, words: str
) -> None:
    change(project, file, before, after)
    ran = offline("op", "test", str(project))
    assert ran.code == 2
    assert words in ran.err


@pytest.mark.parametrize(
    ("field", "value", "pointer"),
    [
        ("inputs", [], "/inputs"),
        ("inputs", [{"dtype": "float64", "shape": [1]}], "/inputs/0/dtype"),
        ("outputs", [{"dtype": "float32", "shape": [0]}], "/outputs/0/shape"),
        ("gradients", ["z"], "/gradients/0"),
        ("sources", ["gone.cpp"], "/sources/0"),
        ("tolerance", "small", "/tolerance"),
        ("colour", "red", "/colour"),
    ],
)
@pytest.mark.sample(2)
def test_a_wrong_description_names_the_place(
    offline: Run, project: Path, field: str, value: Any, pointer: str
) -> None:
    document = json.loads((project / "op.json").read_text())
    (project / "op.json").write_text(json.dumps({**document, field: value}))
    ran = offline("op", "test", str(project))
    assert ran.code == 2
    assert f"{pointer}:" in ran.err


def test_a_folder_without_a_project(offline: Run, tmp_path: Path) -> None:
    ran = offline("op", "test", str(tmp_path))
    assert ran.code == 2
    assert "op.json: No such file" in ran.err


def test_nothing_is_overwritten(offline: Run, project: Path) -> None:
    before = (project / "op.json").read_bytes()
    ran = offline("op", "new", "other", "--to", str(project))
    assert ran.code != 0
    assert "exists already" in ran.err
    assert (project / "op.json").read_bytes() == before
    ran = offline("op", "new", "../Wrong name")
    assert ran.code == 2
    assert "lower-case" in ran.err


@pytest.mark.sample(0)
def test_an_op_for_layers_is_compared_in_all_its_parts(offline: Run, tmp_path: Path) -> None:
    folder = tmp_path / "peaks"
    assert offline("op", "new", "peaks", "--to", str(folder), "--layer").code == 0
    ran = offline("op", "test", str(folder), "--json")
    assert ran.code == 0, ran.err
    assert [one["what"] for one in ran.json["comparisons"]] == [
        "reference's output pooled is 0 or 1",
        *("output pooled", "gradient of spikes", "gradient of gain"),
        *("kernel's output pooled", "kernel's gradient of spikes", "kernel's gradient of gain"),
        *("reference's gradient of spikes", "reference's gradient of gain"),
    ]
    change(folder, "kernel.cpp", "= byDrive * gain", "= FACTOR * byDrive * gain")
    (folder / "factor.h").write_text("#define FACTOR 2\n")
    # Files are included from the op's folder, as in a job.
    (folder / "cpu").mkdir()
    kernel = (folder / "kernel.cpp").rename(folder / "cpu" / "kernel.cpp")
    kernel.write_text('#include "factor.h"\n' + kernel.read_text())
    change(folder, "op.json", '"kernel.cpp"', '"cpu/kernel.cpp"')
    ran = offline("op", "test", str(folder), "--json")
    assert ran.code == 1
    bad = [one["what"] for one in ran.json["comparisons"] if not one["is_good"]]
    assert bad == ["kernel's gradient of spikes"]
    (folder / "reference.py").unlink()
    ran = offline("op", "push", str(folder))
    assert ran.code == 2
    assert "/reference:" in ran.err


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("def backward(", "def backwards(", "backward"),
        ("above[step] >= 0", "above[step]", "reference's output sent is 0 or 1"),
        ("decay * later", "0.5 * later", "reference's gradient of"),
    ],
)
def test_mistakes_of_an_op_in_numpy_alone_are_named(
    offline: Run, tmp_path: Path, before: str, after: str, words: str
) -> None:
    folder = tmp_path / "leaky"
    shutil.copytree(ROOT / "examples" / "ops" / "leaky", folder)
    good = offline("op", "test", str(folder))
    assert good.code == 0, good.err
    change(folder, "reference.py", before, after)
    ran = offline("op", "test", str(folder))
    assert ran.code != 0
    assert words in ran.out + ran.err

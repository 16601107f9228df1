"""CSV as other programs write it: the same data, or a refusal that quotes what was found."""

from pathlib import Path
from typing import Dict, Tuple

import numpy as np
import pytest

from ipulse_core.data_files.check import check
from ipulse_core.data_files.csv.samples import opened_csv_samples
from tests.core.data_files.csv_files import ACCEPTED, LABELS_FROM_ONE, REFUSED, ROWS

pytestmark = pytest.mark.old_python

# Beginnings of Python's own messages about text that is no number or no table.
_OF_PYTHON = (
    "invalid literal",
    "could not convert",
    "codec can't",
    "expected after",
    "line contain",
)


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_form_has_the_same_data(name: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(ACCEPTED[name])
    with opened_csv_samples(tmp_path / "data.csv") as file:
        (block,) = file.blocks
        sample, time, channel, label = zip(*ROWS)
        np.testing.assert_array_equal(block.sample, sample)
        np.testing.assert_array_equal(block.channel, channel)
        np.testing.assert_array_equal(file.labels[block.sample], label)
        if name == "exponents":
            np.testing.assert_allclose(block.time, time)
        else:
            np.testing.assert_array_equal(block.time, time)


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused_with_what_was_found(name: str, tmp_path: Path) -> None:
    content, quoted = REFUSED[name]
    path, folder = tmp_path / "data.csv", tmp_path / "scratch"
    path.write_bytes(content)
    folder.mkdir()
    refusal = check(path, folder, 2**20)["refusal"]
    for text in quoted:
        assert text in refusal
    assert not any(text in refusal for text in _OF_PYTHON)


@pytest.mark.parametrize("forms", [ACCEPTED])
def test_the_check_of_the_service_finds_the_same_facts(
    forms: Dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    found = {}
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        found[name] = check(tmp_path / name, folder, 2**20)["facts"]
    assert found["plain"]["channels"] == 12
    assert found["plain"]["warnings"] == []
    assert [name for name, facts in found.items() if facts != found["plain"]] == []


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (LABELS_FROM_ONE, ("label 0", "channel 0")),
        (
            b"sample,time_ms,channel,label\n0,1,2,0\n1,1,5,3\n",
            ("labels 1, 2", "channels 0, 1, 3, 4"),
        ),
        (b"sample,time_ms,channel,label\n0,1,1,0\n1,1,3,1\n2,1,0,1\n", ("channel 2 has",)),
    ],
)
def test_labels_and_channels_that_nothing_has_are_a_warning(
    content: bytes, named: Tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    (tmp_path / "scratch").mkdir()
    (warning,) = check(tmp_path / "data.csv", tmp_path / "scratch", 2**20)["facts"]["warnings"]
    for text in named:
        assert text in warning

"""The refusal of an npz file with arrays of other names says how to rename them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipulse_core.data_files.errors import DataInvalid
from ipulse_core.data_files.npz_samples import opened_npz_samples

FRAMES = np.zeros((9, 5, 6), bool)
LABELS = np.arange(9) % 3
LINE = re.compile(r"old = numpy.load.*numpy.savez_compressed\(.*\)(?= \()")


def refusal(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    with pytest.raises(DataInvalid) as refused, opened_npz_samples(path):
        pass
    return refused.value.message


@pytest.mark.parametrize(
    "names", [("x_train", "y_train"), ("X", "y"), ("arr_0", "arr_1"), ("labels", "target")]
)
@pytest.mark.parametrize("shape", [(9, 5, 6), (9, 30)])
def test_the_line_makes_a_file_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str], shape: tuple[int, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refusal(Path("old.npz"), **dict(zip(names, (np.zeros(shape), LABELS))))
    assert all(repr(name) in message for name in names)
    found = LINE.search(message)
    assert found
    exec(found[0], {"numpy": np})  # noqa: S102 - the line that a user copies
    with opened_npz_samples(Path("new.npz")) as file:
        assert file.labels.tolist() == LABELS.tolist()
        assert file.test is None


def test_the_test_set_of_a_file_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arrays = {"x_test": FRAMES[:4], "y_test": LABELS[:4], "x_train": FRAMES, "y_train": LABELS}
    found = LINE.search(refusal(Path("old.npz"), **arrays))
    assert found
    exec(found[0], {"numpy": np})  # noqa: S102 - the line that a user copies
    with opened_npz_samples(Path("new.npz")) as file:
        assert file.labels.tolist() == [*LABELS, *LABELS[:4]]
        assert file.test is not None
        assert file.test.tolist() == [False] * 9 + [True] * 4


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": FRAMES, "y": LABELS[:5]},
        {"x": FRAMES, "y": LABELS + 0.5},
        {"t": np.zeros(40), "p": np.zeros(40, int), "y": LABELS},
        {"x": np.zeros((9, 5, 6, 2)), "y": LABELS},
    ],
)
def test_without_a_clear_pair_no_line_is_made(tmp_path: Path, arrays: dict[str, Any]) -> None:
    message = refusal(tmp_path / "mine.npz", **arrays)
    assert "own_data.md" in message
    assert not LINE.search(message)
    assert all(repr(name) in message for name in arrays)


def test_hostile_names_cannot_leave_their_quotes(tmp_path: Path) -> None:
    message = refusal(tmp_path / "mine.npz", **{'x"]\u202e\n': FRAMES, "y" * 500: LABELS})
    assert message.isprintable()
    assert message.isascii()
    assert not LINE.search(message)
    assert len(message) < 1000


def test_many_arrays_are_counted(tmp_path: Path) -> None:
    message = refusal(tmp_path / "mine.npz", **{f"a{n}": np.zeros(1) for n in range(50)})
    assert "42 more" in message

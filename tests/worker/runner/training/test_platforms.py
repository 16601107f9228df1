"""Trainings that continue on another platform say so wherever their results are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_worker.runner.training.platforms import PlatformHistory, TrainingPlatform
from tests.worker.runner.attempts import FinishedAttempt, attempt
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.report.page import Page

A = TrainingPlatform("Processor X", "avx512", "0.2.0", "1.26.4", "2.21.0")
B = replace(A, instruction_set="avx2", tensorflow="2.6.5")
ONE, TWO = replace(A, kernel_generation=1), replace(B, kernel_generation=1)


class TestPlatformHistory:
    def test_has_an_entry_for_each_change(self) -> None:
        history = PlatformHistory()
        for step, platform in ((0, A), (7, A), (10, B), (20, B)):
            history.enter(step, platform)
        assert [entry["first_step"] for entry in history.to_json()] == [1, 11]
        (phrase,) = history.others()
        assert phrase.startswith("steps 1 to 10 with")
        assert "instruction set avx512 instead of avx2" in phrase
        assert "TensorFlow 2.21.0 instead of 2.6.5" in phrase
        assert "Processor" not in phrase
        again = PlatformHistory(json.loads(json.dumps(history.to_json())))
        assert again.others() == history.others()

    def test_does_not_forget_a_platform_in_between(self) -> None:
        history = PlatformHistory()
        for step, platform in ((0, A), (10, B), (20, A)):
            history.enter(step, platform)
        (phrase,) = history.others()
        assert phrase.startswith("steps 11 to 20 with")

    def test_leaves_out_a_platform_that_computed_no_step(self) -> None:
        history = PlatformHistory()
        for step, platform in ((0, A), (10, B), (10, A), (10, B), (20, A)):
            history.enter(step, platform)
        assert [entry["first_step"] for entry in history.to_json()] == [1, 11, 21]
        history = PlatformHistory()
        for step, platform in ((0, A), (10, B), (10, A)):
            history.enter(step, platform)
        assert history.others() == []

    def test_is_silent_about_platforms_with_equal_results(self) -> None:
        history = PlatformHistory()
        for step, platform in ((0, ONE), (10, TWO)):
            history.enter(step, platform)
        assert [entry["kernel_generation"] for entry in history.to_json()] == [1, 1]
        assert history.others() == []

    def test_names_another_generation_of_kernels(self) -> None:
        for earlier, named in ((2, "2"), (None, "unknown")):
            history = PlatformHistory()
            history.enter(0, replace(ONE, kernel_generation=earlier))
            history.enter(10, ONE)
            again = PlatformHistory(json.loads(json.dumps(history.to_json())))
            assert again.others() == [f"steps 1 to 10 with kernel generation {named} instead of 1"]

    def test_says_that_earlier_steps_are_not_known(self) -> None:
        history = PlatformHistory()
        history.enter(10, A)
        assert history.others() == ["steps 1 to 10 on an unknown platform"]


def resumed(directory: Path, checkpoint: Path, platforms: Any) -> FinishedAttempt:
    """Resume from a copy of the checkpoint with other platforms, or with none for None."""
    with np.load(checkpoint, allow_pickle=False) as arrays:
        named: Dict[str, Any] = dict(arrays)
    del named["platforms"]
    if platforms is not None:
        named["platforms"] = np.frombuffer(json.dumps(platforms).encode(), np.uint8)
    copy = directory.with_suffix(".npz")
    np.savez(copy, **named)
    return attempt(directory, SPEC, checkpoint=str(copy))


def warnings_in_the_report(result: FinishedAttempt) -> str:
    page = Page((result.directory / "report.html").read_text("utf-8"))
    return "".join(page.text["div"] + page.text["b"])


def document(directory: Path, name: str) -> Any:
    return json.loads((directory / name).read_text("utf-8"))


@pytest.mark.usefixtures("finished", "threads_are_set")
class TestAResumedAttempt:
    @pytest.mark.old_python
    def test_names_what_changed(self, finished_dir: Path, tmp_path: Path) -> None:
        ours: List[Dict[str, Any]] = document(finished_dir, "manifest.json")["platforms"]
        assert len(ours) == 1
        assert ours[0]["first_step"] == 1
        other = {"instruction_set": "sse9", "tensorflow": "1.2.3", "kernel_generation": 0}
        before = [{**ours[0], **other}]
        result = resumed(tmp_path / "work", finished_dir / "checkpoint.npz", before)
        assert result.done["reason"] == "completed", result.done
        expected = f"TensorFlow 1.2.3 instead of {ours[0]['tensorflow']}"
        (warning,) = (e for e in result.events if e.get("level") == "warning")
        assert "steps 1 to 200 with instruction set sse9" in warning["message"]
        assert expected in warning["message"]
        assert expected in warnings_in_the_report(result)
        after = [*before, {**ours[0], "first_step": 201}]
        assert document(result.directory, "manifest.json")["platforms"] == after
        assert document(result.directory, "profile.json")["attempt"]["platforms"] == after

    def test_is_silent_about_another_cpu(self, finished_dir: Path, tmp_path: Path) -> None:
        ours: List[Dict[str, Any]] = document(finished_dir, "manifest.json")["platforms"]
        before = [{**ours[0], "instruction_set": "sse9", "processor": "another"}]
        result = resumed(tmp_path / "work", finished_dir / "checkpoint.npz", before)
        assert result.done["reason"] == "completed", result.done
        assert not [e for e in result.events if e.get("level") == "warning"]
        assert len(document(result.directory, "manifest.json")["platforms"]) == 2

    def test_of_an_older_release_is_on_an_unknown_platform(
        self, finished_dir: Path, tmp_path: Path
    ) -> None:
        result = resumed(tmp_path / "work", finished_dir / "checkpoint.npz", None)
        assert result.done["reason"] == "completed", result.done
        assert "steps 1 to 200 on an unknown platform" in warnings_in_the_report(result)

    def test_with_damaged_platforms_ends_with_words(
        self, finished_dir: Path, tmp_path: Path
    ) -> None:
        for number, damaged in enumerate(([{}], [1], {"a": 1})):
            result = resumed(tmp_path / str(number), finished_dir / "checkpoint.npz", damaged)
            assert "the checkpoint cannot be read" in result.done["message"]


def test_an_undisturbed_attempt_warns_of_nothing(
    finished: DrivenRunner, finished_dir: Path
) -> None:
    page = Page((finished_dir / "report.html").read_text("utf-8"))
    assert "platform" not in "".join(page.text["div"] + page.text["b"])

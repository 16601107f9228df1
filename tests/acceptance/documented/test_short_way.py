"""A new user compares a sweep on data of their own, by the commands of the tutorial."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.documented.reader import new_reader
from tests.acceptance.locked_tools import ROOT

MOST = 15  # commands
TUTORIAL = ROOT / "docs" / "tutorial"
VARIED = "--vary learning_rate=0.003,0.01"
SWEEP = f"""
ipulse sweep run examples/own_data.yaml --set epochs=2 {VARIED} --seeds 2 --wait
ipulse compare -q 'dataset:mine state:succeeded'
"""


def blocks(page: str, language: str) -> list[str]:
    text = (TUTORIAL / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.verify
def test_own_data_are_swept_and_compared_with_few_commands(tmp_path: Path) -> None:
    reader = new_reader(tmp_path)
    start, enter = blocks("1-start.md", "sh")[:2]
    write, (push, *_) = blocks("4-your-data.md", "python")[0], blocks("4-your-data.md", "sh")
    push = push.strip().splitlines()[0]
    enter = enter.strip().splitlines()[0]
    (reader.folder / "write.py").write_text(write)
    commands = ["git clone", start.strip(), enter, "python write.py", push]
    commands += SWEEP.strip().splitlines()
    assert start.strip() == "make up"
    assert len(commands) <= MOST
    try:
        reader.start()
        reader.read("python write.py")
        reader.read("\n".join(commands[4:-1]))
        shown = subprocess.run(
            ["/bin/sh", "-c", commands[-1]],
            cwd=reader.folder,
            env=reader.environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    finally:
        reader.stop()
    assert "learning_rate" in shown
    assert "0.003" in shown
    assert "0.01" in shown

"""The worked example of docs/guides/sweeps.md: five second thresholds by three seeds."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.documented.reader import new_reader
from tests.acceptance.locked_tools import ROOT

PAGE = ROOT / "docs" / "guides" / "sweeps.md"


@pytest.mark.verify
def test_fifteen_jobs_in_one_command_make_one_table(tmp_path: Path) -> None:
    reader = new_reader(tmp_path)
    run, show = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)[:2]
    try:
        reader.start()
        reader.read(run)
        shown = subprocess.run(
            ["/bin/sh", "-c", f"{show.strip()} --json"],
            cwd=reader.folder,
            env=reader.environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    finally:
        reader.stop()
    sweep = json.loads(shown)
    assert (sweep["state"], sweep["reason"]) == ("ended", "completed")
    assert [trial["n"] for trial in sweep["trial_list"]] == [3] * 5
    assert all(trial["interval"] is not None for trial in sweep["trial_list"])
    means = [trial["value"] for trial in sweep["trial_list"]]
    assert means == sorted(means, reverse=True), "the best first"
    assert sweep["best"]["number"] == sweep["trial_list"][0]["number"]

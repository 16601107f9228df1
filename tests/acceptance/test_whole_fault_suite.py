"""The whole fault suite, on both databases and with the real runner: `make verify` runs it."""

from __future__ import annotations

import secrets

import pytest

from .test_faults import selftest

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3600)]

FINDINGS = ("lost", "run_twice_officially", "old_runner_beside_next", "broken")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--kills", "100", "--jobs", "300"], id="sqlite"),
        pytest.param(["--kills", "30", "--postgresql"], id="postgresql"),
        pytest.param(["--kills", "10", "--training", "--only", "kills"], id="training"),
        pytest.param(["--kills", "0", "--training", "--only", "disks"], id="training, full disks"),
    ],
)
def test_nothing_accepted_is_lost(options: list[str]) -> None:
    seed = secrets.randbelow(2**31)
    print(f"seed {seed}")  # noqa: T201  # to repeat a failure
    code, report, remarks = selftest("--faults", "--seed", str(seed), *options, seconds=3000)
    print({name: report.get(name, report) for name in FINDINGS})  # noqa: T201  # not shortened
    assert code == 0, (report, remarks)
    assert report["lost"] == report["run_twice_officially"] == report["broken"] == []
    assert "500" not in report["statuses"]

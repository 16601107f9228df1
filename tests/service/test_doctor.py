"""`ipulse doctor` on a service through which work can flow."""

from __future__ import annotations

import json

import pytest

from ipulse.cli import main

from .running import InProcess


def test_all_is_well(service: InProcess, capsys: pytest.CaptureFixture[str]) -> None:
    service.wait_until_ready()
    capsys.readouterr()
    at = ["--url", service.url, "--token-file", str(service.settings.token_file)]
    code = main(["doctor", "--json", "--home", str(service.settings.home), *at])
    report = json.loads(capsys.readouterr().out)
    findings = {one["name"]: one for one in report["findings"]}
    assert findings["service"]["fine"] is True, findings
    assert (code == 0) is report["fine"]

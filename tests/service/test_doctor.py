"""`ipulse doctor` on a service through which work can flow."""

from __future__ import annotations

import json

import pytest

from ipulse.cli import main
from ipulse_service.reading.isolation import Isolation

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


@pytest.mark.parametrize("is_required", [False, True])
def test_documents_without_a_sandbox(
    service: InProcess,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_required: bool,
) -> None:
    service.wait_until_ready()
    without = Isolation(is_required, {"IPULSE_SANDBOX": "none"})
    monkeypatch.setattr(service.state.reader, "isolation", without)
    capsys.readouterr()
    at = ["--url", service.url, "--token-file", str(service.settings.token_file)]
    main(["doctor", "--json", "--home", str(service.settings.home), *at])
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["documents"]["fine"] is not is_required
    assert "IPULSE_SANDBOX" in findings["documents"]["detail"] or is_required


def test_doctor_says_that_nobody_knows_the_sandbox_yet(
    service: InProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.wait_until_ready()
    monkeypatch.setattr(service.state.reader, "isolation", Isolation(True, {}))
    capsys.readouterr()
    at = ["--url", service.url, "--token-file", str(service.settings.token_file)]
    main(["doctor", "--json", "--home", str(service.settings.home), *at])
    findings = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert "documents" in findings
    assert service.state.reader.isolation.state()[0] == "unknown", "doctor does not try it"

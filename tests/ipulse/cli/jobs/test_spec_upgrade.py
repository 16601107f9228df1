"""`ipulse spec upgrade` prints a file as version 2 of the spec, without a service."""

from __future__ import annotations

from pathlib import Path

from ipulse.spec.document.file import parse_spec_file, read_spec_file
from tests.ipulse.cli.conftest import Run
from tests.ipulse.live_service import ROOT


def test_an_example_is_printed_as_version_2(offline: Run, tmp_path: Path) -> None:
    ran = offline("spec", "upgrade", str(ROOT / "tests/ipulse/cli/jobs/recurrent_1.yaml"))
    assert ran.code == 0
    upgraded = parse_spec_file(ran.out.encode(), "upgraded")
    layer = upgraded.value["network"]["layers"][0]
    assert upgraded.value["version"] == 2
    assert layer == {"neurons": 128, "connections": [{"kind": "dense"}, {"kind": "recurrent"}]}
    old = read_spec_file(ROOT / "tests/ipulse/cli/jobs/recurrent_1.yaml")
    assert upgraded.spec() == old.spec()
    (tmp_path / "new.yaml").write_text(ran.out)
    assert offline("spec", "upgrade", str(tmp_path / "new.yaml")).out == ran.out


def test_a_wrong_file_is_refused_with_its_line(offline: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("version: 1\nnetwork: {layers: [{neurons: 0}]}\n")
    ran = offline("spec", "upgrade", str(tmp_path / "wrong.yaml"))
    assert (ran.code, ran.out) == (2, "")
    assert "wrong.yaml:2: /network/layers/0/neurons" in ran.err

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_core import strict_json
from ipulse_core.spec.resolved_spec import spec_document
from tests.worker.runner.conftest import SPEC
from tests.worker.runner.driven_runner import DrivenRunner
from tests.worker.runner.specs import spec_from

pytestmark = pytest.mark.old_python


@pytest.fixture(scope="module")
def manifest(finished_dir: Path, finished: DrivenRunner) -> Dict[str, Any]:
    document: Dict[str, Any] = json.loads((finished_dir / "manifest.json").read_text())
    return document


class TestManifest:
    def test_digests_and_sizes_are_those_of_the_files(
        self, manifest: Dict[str, Any], finished: DrivenRunner, finished_dir: Path
    ) -> None:
        reported = [event["path"] for event in finished.kinds("artifact")]
        assert [entry["name"] for entry in manifest["artifacts"]] == reported[:-1]
        for entry in manifest["artifacts"]:
            content = (finished_dir / entry["name"]).read_bytes()
            assert entry["sha256"] == hashlib.sha256(content).hexdigest()
            assert entry["size"] == len(content)

    def test_identifies_the_experiment(self, manifest: Dict[str, Any]) -> None:
        whole = spec_document(spec_from(SPEC))
        assert manifest["spec"] == whole
        canonical = strict_json.dumps(whole).encode()
        assert manifest["spec_sha256"] == hashlib.sha256(canonical).hexdigest()
        assert manifest["seed"] == 7

    def test_names_the_origin(self, manifest: Dict[str, Any]) -> None:
        assert manifest["started_at"] < manifest["finished_at"]
        assert manifest["kernel"]["threads"] == manifest["host"]["threads"] >= 1
        assert manifest["git"]["commit"] or manifest["git"]["why"]

    def test_final_metrics_are_those_of_the_last_epoch(
        self, manifest: Dict[str, Any], finished: DrivenRunner, finished_dir: Path
    ) -> None:
        lines = (finished_dir / "metrics.jsonl").read_text().splitlines()
        last = json.loads(lines[-1])
        assert last["scope"] == "epoch"
        for name in ("loss", "accuracy", "test_loss", "test_accuracy"):
            assert manifest["metrics"][name] == last[name]
        assert manifest["metrics"] == finished.events[-1]["summary"]

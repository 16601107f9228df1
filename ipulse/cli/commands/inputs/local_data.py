"""The data section of a spec for a file of this machine."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipulse.install_hint import require_modules
from ipulse_core.errors import InvalidInput, Problem

KINDS = ("npz", "events")  # kinds with channels, classes and steps in the spec
EVENT_STEPS = 100  # of recordings with times, about
VALUE_STEPS = 40  # of values, which the encoding turns into spikes
_UNPACKED_BYTES = 2**30


def facts_of(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the kind of a data file and its facts, found by the service's own check.

    Raises:
        InvalidInput: a job could not be trained on the file.
        MissingDependency: the libraries that read it are not installed.
    """
    require_modules(("h5py", "numpy"), "reading a data set")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-I", "-m", "ipulse_core.data_files.check"]
        checked = subprocess.run(  # noqa: S603 - our own module
            [*command, str(path), folder, str(_UNPACKED_BYTES)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    if checked.returncode:
        raise _refused(
            f"{path} could not be read: it is damaged, or takes too much memory; write it "
            "again, or give its shapes yourself, as docs/guides/own_data.md shows"
        )
    result = json.loads(checked.stdout)
    if "facts" not in result:
        reason = result.get("refusal") or result["trouble"]
        raise _refused(f"{path} is no data set that jobs can use: {reason}")
    if result["kind"] not in KINDS:
        raise _refused(
            f"{path} is the published data set {result['kind']}, whose shapes need not be given: "
            f"write `data: {{kind: {result['kind']}, dataset: NAME}}`"
        )
    return result["kind"], result["facts"]


def data_fields(kind: str, dataset: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `data` for an uploaded data set with these facts."""
    fields: dict[str, Any] = {"kind": kind, "dataset": dataset, "channels": facts["channels"]}
    if facts["classes"]:
        fields["classes"] = facts["classes"]
    else:
        fields["outputs"] = facts["outputs"]
    steps = facts["steps"] or facts["target_steps"]
    if facts["form"] == "values":
        return {**fields, "steps": steps or VALUE_STEPS, "encoding": {"kind": "log_latency"}}
    if steps is None:
        milliseconds = max(1.0, facts["last_ms"])
        step_ms = float(f"{max(1.0, milliseconds / EVENT_STEPS):.1g}")
        return {**fields, "steps": math.floor(milliseconds / step_ms) + 1, "step_ms": step_ms}
    return {**fields, "steps": steps}


def loss_of(facts: Mapping[str, Any]) -> str | None:
    """Return the loss of a regression; None if there are classes to tell apart."""
    if facts["classes"]:
        return None
    return "step_mse" if facts["target_steps"] else "mean_membrane_mse"


def _refused(detail: str) -> InvalidInput:
    return InvalidInput([Problem("/data", "invalid_data", detail)], detail)

"""Scripts as attempts, from package to artifacts: in the sandbox, with custom ops on tiles."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict

import pytest

from ipulse_core.data_sets import UPLOADED_FOLDER, UPLOADED_NAME
from ipulse_core.sandbox import bubblewrap
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_core.source_package import read_folder, write_package
from tests.worker.runner.attempts import FinishedAttempt, attempt

try:
    bubblewrap.require_bubblewrap()
except SandboxUnavailable as problem:
    pytest.skip(str(problem), allow_module_level=True)

EXAMPLES = Path(__file__).resolve().parents[5] / "examples" / "tensorflow_ipu"
PLAIN = """
import os, socket, sys
print("arguments", sys.argv[1:])
print('ipulse-metrics {"epoch": 1, "loss": 0.5}')
os.mkdir("results")
with open("results/weights.txt", "w") as file:
    file.write("trained")
try:
    print("data", open(os.environ.get("IPULSE_DATASET", "none"), "rb").read())
except OSError as error:
    print("no data", error)
try:
    socket.create_connection(("127.0.0.1", 80), 1)
except OSError as error:
    print("no network")
if "fail" in sys.argv:
    import torch
"""

# Two steps with two queues, one of which has tensors without a name.
OUTFEEDS = """
import tensorflow as tf
from tensorflow.python import ipu

config = ipu.config.IPUConfig()
config.auto_select_ipus = 1
config.configure_ipu_system()
queue, norms = (ipu.ipu_outfeed_queue.IPUOutfeedQueue() for _ in range(2))
with ipu.ipu_strategy.IPUStrategy().scope() as strategy:
    w = tf.Variable([4.0])

@tf.function
def steps():
    for _ in tf.range(2):
        queue.enqueue({"loss": tf.reduce_sum(w), "accuracy": 2.0 * w})
        norms.enqueue(w * w)
        w.assign(w / 2.0)

strategy.run(steps)
queue.dequeue()
norms.dequeue()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IPULSE_DEVICES", str(tmp_path / "devices"))
    tmp_path.chmod(0o755)
    return tmp_path


def run(place: Path, folder: Path, **changes: Any) -> FinishedAttempt:
    package = place / "package.tar"
    with package.open("wb") as out:
        write_package(read_folder(folder).files, out)
    spec: Dict[str, Any] = {
        "version": 1,
        "kind": "script",
        "package": f"sha256:{hashlib.sha256(package.read_bytes()).hexdigest()}",
        "device": {"ipus": 1, "tiles": 16},
        **changes,
    }
    return attempt(place / "work", spec, "ScriptSpec", start_from=str(package))


def artifacts(result: FinishedAttempt) -> Dict[str, str]:
    return {event["path"]: event["role"] for event in result.events if event["kind"] == "artifact"}


def test_a_script_runs_alone_and_leaves_metrics_and_results(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "train.py").write_text(PLAIN)
    result = run(place, place / "mine", script="train.py", arguments=["fail"])
    assert result.done["reason"] == "program_failed"
    assert "No module named 'torch'" in result.done["message"]
    assert "requirements" in result.done["message"]
    assert "arguments ['fail']" in result.log
    assert "no network" in result.log
    (metric,) = [event for event in result.events if event["kind"] == "metric"]
    assert (metric["scope"], metric["values"]) == ("epoch", {"loss": 0.5})
    files = artifacts(result)
    assert files["results-weights.txt"] == "output"
    assert files["report.html"] == "report"
    assert "emulated" not in (result.directory / "report.html").read_text()  # nothing was
    assert (result.directory / "results-weights.txt").read_text() == "trained"
    assert "poplar_profile.json" not in files
    assert "train.py" not in files


def test_a_script_reads_its_data_set_and_cannot_change_it(place: Path) -> None:
    (place / "mine").mkdir()
    program = f"{PLAIN}\nopen(os.environ['IPULSE_DATASET'], 'ab')"
    (place / "mine" / "train.py").write_text(program)
    content = b"of an uploaded data set"
    uploaded = place / "work" / UPLOADED_FOLDER
    uploaded.mkdir(parents=True)
    (uploaded / f"{UPLOADED_NAME}.npz").write_bytes(content)
    data = {"kind": "npz", "dataset": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    result = run(place, place / "mine", script="train.py", data=data)
    assert f"data {content!r}" in result.log
    assert result.done["reason"] == "program_failed"
    assert "Read-only" in result.done["message"] or "Permission" in result.done["message"]
    assert (uploaded / f"{UPLOADED_NAME}.npz").read_bytes() == content


def test_a_file_that_is_not_in_the_package_is_named(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "train.py").write_text(PLAIN)
    result = run(place, place / "mine", script="other.py")
    assert result.done["reason"] == "build_failed"
    assert "/script" in result.done["message"]


@pytest.mark.verify
@pytest.mark.old_python
def test_the_example_trains_with_its_custom_op_on_tiles(place: Path) -> None:
    library = {"name": "liblif.so", "sources": ["lif_op.cpp"]}
    result = run(
        place,
        EXAMPLES,
        script="keras_lif.py",
        arguments=["./liblif.so", "--epochs", "2"],
        custom_ops=[library],
    )
    assert result.done["reason"] == "completed", (result.done, result.log)
    metrics = [event for event in result.events if event["kind"] == "metric"]
    assert [event["epoch"] for event in metrics] == [1, 2]
    files = artifacts(result)
    assert files["poplar_profile.json"] == "poplar_profile"
    report = json.loads((result.directory / "script_report.json").read_text("utf-8"))
    (op,) = report["custom_ops"]
    profile = json.loads((result.directory / "poplar_profile.json").read_text("utf-8"))
    assert profile["execution"]["totalCycles"]["total"] == op["cycles"] > 0
    assert result.done["summary"]["emulated_cycles"] == op["cycles"]
    assert result.done["summary"]["loss"] == metrics[-1]["values"]["loss"]
    assert report["host_programs"]
    assert UPLOADED_FOLDER not in files


@pytest.mark.verify
@pytest.mark.old_python
def test_what_a_script_dequeues_becomes_its_metrics(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "train.py").write_text(OUTFEEDS)
    result = run(place, place / "mine", script="train.py", outfeeds=["norm", "loss", "absent"])
    assert result.done["reason"] == "completed", (result.done, result.log)
    metrics = [event for event in result.events if event["kind"] == "metric"]
    points = [(event["scope"], event["step"], event["values"]) for event in metrics]
    losses = [("step", 1, {"loss": 4.0}), ("step", 2, {"loss": 2.0})]
    assert points == [*losses, ("step", 1, {"norm": 16.0}), ("step", 2, {"norm": 4.0})]
    assert any("no outfeed queue returned absent" in line for line in result.log)
    assert (result.done["summary"]["loss"], result.done["summary"]["norm"]) == (2.0, 4.0)

"""Each cell of the capability table that runs: a job of a network of 2 x 8 neurons."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np
import pytest

from ipulse_core.data_files.directory import DataDirectory
from ipulse_core.registry.table import RUNS, cells
from ipulse_core.spec.neuron_packages import VARIABLE
from ipulse_worker.runner.cancellation import Cancellation
from ipulse_worker.runner.data.load import load
from tests.capability_documents import CHANNELS, CLASSES, SAMPLES, STEPS, Document, document_of
from tests.ipu_fake.state import State
from tests.ops.neuron_package.wheels import importable, source
from tests.worker.runner.attempts import attempt
from tests.worker.runner.devices.conftest import device  # noqa: F401 (a fixture)
from tests.worker.runner.model.test_packages import install_package
from tests.worker.runner.specs import spec_from
from tests.worker.runner.training.conftest import cancellation  # noqa: F401 (a fixture)
from tests.worker.runner.training.runs import run
from tests.worker.runner.trainings import training_on
from tests.worker.runner.user_code.ops.packages import Packed, packed, project

Given = Tuple[str, Packed]


def running(device_kind: str) -> List[Any]:
    """The cells of a device that run, as parameters: a feature and a kind of layer."""
    found = [cell for cell in cells() if cell.device == device_kind and cell.verdict == RUNS]
    return [pytest.param(cell.feature, cell.kind) for cell in found]


def first_of_each_feature() -> List[Any]:
    """A cell of each feature that runs on a CPU without code of users."""
    found: Dict[str, str] = {}
    for cell in cells():
        if (cell.device, cell.verdict) == ("cpu", RUNS) and cell.kind not in ("op", "package"):
            found.setdefault(cell.feature, cell.kind)
    return [pytest.param(feature, kind) for feature, kind in found.items()]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with spikes of two classes."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(1)
    labels = np.arange(2 * SAMPLES) % CLASSES
    spikes = rng.random((2 * SAMPLES, STEPS, CHANNELS)) < 0.3
    np.savez(str(folder / "small.npz"), spikes=spikes.astype(np.uint8), labels=labels)
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The example of a package of neurons, installed."""
    folder = tmp_path_factory.mktemp("package")
    reference = install_package(folder, source())
    with importable(folder / "installed"):
        yield reference


@pytest.fixture(scope="module")
def op(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return packed(project(tmp_path_factory.mktemp("op") / "pool"))


@pytest.fixture
def given(
    data: Path, package: str, op: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Given:
    """What jobs need: data, a package that was signed off, and an op that was pushed."""
    monkeypatch.setenv("IPULSE_DATA", str(data))
    monkeypatch.setenv(VARIABLE, package)
    return package, op


def trains(folder: Path, given: Given, document: Document) -> None:
    """Run the job to its end: all its weights are finite."""
    package, op = given
    kinds = [layer.get("kind") for layer in document["network"]["layers"]]
    if "op" in kinds and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    assigned: Dict[str, Any] = {}
    for layer in document["network"]["layers"]:
        if layer.get("kind") == "package":
            layer["neuron"] = {**layer["neuron"], "package": package}
        if layer.get("kind") == "op":
            layer.update(op=op.reference, attributes={"width": 1})
            assigned["ops"] = {op.digest: str(op.path)}
    ended = attempt(folder / "job", document, **assigned)
    assert ended.done["kind"] == "done", ended.done
    assert ended.done["reason"] in ("completed", "compiled"), (ended.done, ended.log)
    if document["device"].get("connection_type") != "PRE_COMPILE":
        with np.load(str(ended.directory / "weights.npz")) as arrays:
            assert all(np.isfinite(array).all() for array in arrays.values())


@pytest.mark.parametrize(("feature", "kind"), first_of_each_feature())
def test_steps_on_the_cpu(
    feature: str,
    kind: str,
    data: Path,
    cancellation: Cancellation,  # noqa: F811 (the fixture)
) -> None:
    """The training of a job, without its files: each feature with one kind of layer."""
    spec = spec_from(document_of(feature, kind, "cpu"))
    dataset = load(spec.data, DataDirectory(data), lambda done, samples: None)
    training = training_on(spec, dataset)
    run(training, cancellation)
    assert np.isfinite(training.history.epochs("loss")[0])
    assert all(np.isfinite(array).all() for array in training.model.weights)


@pytest.mark.sample(0)  # none in `make test`: a slice after the other in the rotation
@pytest.mark.usefixtures("threads_are_set")
@pytest.mark.parametrize(("feature", "kind"), running("cpu"))
def test_on_the_cpu(feature: str, kind: str, given: Given, tmp_path: Path) -> None:
    trains(tmp_path, given, document_of(feature, kind, "cpu"))


@pytest.mark.verify
@pytest.mark.usefixtures("threads_are_set")
@pytest.mark.parametrize(("feature", "kind"), running("emulator"))
def test_on_emulated_ipus(feature: str, kind: str, given: Given, tmp_path: Path) -> None:
    trains(tmp_path, given, document_of(feature, kind, "emulator"))


@pytest.mark.verify
@pytest.mark.parametrize(("feature", "kind"), running("ipu"))
def test_on_a_stand_in_for_ipus(
    feature: str,
    kind: str,
    given: Given,
    device: State,  # noqa: F811 (the fixture)
    tmp_path: Path,
) -> None:
    """Not seen on a device: what TensorFlow for the IPU is asked for, it has."""
    if kind == "op":
        pytest.skip("tests/worker/runner/user_code/ops/test_on_ipus.py runs it, with an SDK")
    device.devices = 2
    trains(tmp_path, given, document_of(feature, kind, "ipu"))

"""The four connection types on cpu and emulator: what the trace says, in which order, and what
comes of the job. The checks are those of Graphcore's own example of connection types."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest

from ipulse_worker.runner.backends import emulator
from ipulse_worker.runner.devices.pool import Pool, WaitPolicy
from ipulse_worker.runner.model.compile_only import CompilationOnly, CompileOnlyModel
from ipulse_worker.runner.model.model import Model
from tests.worker.runner import attempts
from tests.worker.runner.attempts import FinishedAttempt
from tests.worker.runner.emulated import ipu_spec
from tests.worker.runner.specs import spec_from

KINDS: Dict[str, Dict[str, Any]] = {
    "cpu": {"kind": "cpu", "threads": 1},
    "emulator": {"kind": "emulator", "tiles": 8},
}
# Which lines the trace has, by their first words, in that order.
TRACES = {
    "ALWAYS": ["attached to", "compiled in"],
    "ON_DEMAND": ["compiled in", "attached to"],
    "PRE_COMPILE": ["pre-compiled in"],
    "NEVER": ["compiled in"],
}


@pytest.fixture(autouse=True)
def _own_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads_are_set: None) -> None:
    """A cache and a pool of each test's own."""
    executables = tmp_path / "executables"
    cache = emulator.ExecutableCache
    monkeypatch.setattr(emulator, "ExecutableCache", lambda warn: cache(warn, executables))
    monkeypatch.setenv("IPULSE_DEVICES", str(tmp_path / "devices"))
    monkeypatch.setenv("IPULSE_EMULATED_IPUS", "1")


def attempt(directory: Path, kind: str, connection: str, **device: Any) -> FinishedAttempt:
    """One attempt on that device."""
    spec = ipu_spec({**KINDS[kind], "connection_type": connection, **device})
    return attempts.attempt(directory, spec)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("connection", TRACES)
class TestEveryConnection:
    @pytest.mark.sample(2)
    def test_logs_its_steps_in_order(self, tmp_path: Path, kind: str, connection: str) -> None:
        result = attempt(tmp_path / "work", kind, connection)
        assert result.done["reason"] == "completed", result.done
        assert len(result.trace) == len(TRACES[connection])
        for line, words in zip(result.trace, TRACES[connection]):
            assert line.startswith(words)
        executes = connection in ("ALWAYS", "ON_DEMAND")
        assert ("acquire" in result.phases) == ("run" in result.phases) == executes
        assert result.phases[-1] == "report"
        progress = [event for event in result.events if event["kind"] == "progress"]
        parts = [event for event in progress if event["phase"] == "compile"]
        done = [part["fraction"] for part in parts]
        assert done == sorted(done)
        assert ("the Poplar op" in str(parts)) == (kind == "emulator")
        if kind == "emulator":
            *_, last = [part for part in parts if part["message"].startswith("compiling program")]
            assert last["steps_done"] == last["steps_total"]
            kept = any("storing it" in part["message"] for part in parts)
            assert kept == (connection != "NEVER")  # which throws away what it has compiled
            assert parts[-1]["message"].startswith("tracing")
        roles = [event["role"] for event in result.events if event["kind"] == "artifact"]
        assert roles[-1] == "manifest"
        assert ("weights" in roles) == executes
        if executes:
            assert re.search(r"\baccuracy [\d.]+ %", result.done["message"])
            return
        info = json.loads((result.directory / "executable.json").read_text())
        assert connection in result.done["message"]
        if connection == "PRE_COMPILE":
            assert info["execution"] == {"outputs": "zeros", "loss": 0.0}
            assert info["executables"][0]["key"] in result.done["message"]
        else:
            assert "compilation only" in info["execution"]["refused"]


# It is the emulator's; test_ipu.py runs from the one of TensorFlow's side.
class TestTheExecutableCache:
    def test_a_run_starts_from_what_was_compiled_ahead(self, tmp_path: Path) -> None:
        ahead = attempt(tmp_path / "ahead", "emulator", "PRE_COMPILE")
        keys = json.loads((ahead.directory / "executable.json").read_text())["executables"]
        assert not os.path.exists(tmp_path / "devices")  # it never looked for a device
        result = attempt(tmp_path / "run", "emulator", "ON_DEMAND")
        assert result.done["reason"] == "completed", result.done
        loaded, attached = result.trace
        assert loaded.startswith("loaded from the executable cache")
        assert all(executable["key"] in loaded for executable in keys)
        assert attached == "attached to emulator: emulated IPU 0"

    def test_never_takes_nothing_from_it_and_leaves_nothing(self, tmp_path: Path) -> None:
        for name in ("first", "second"):
            result = attempt(tmp_path / name, "emulator", "NEVER")
            assert result.done["reason"] == "completed", result.done
            assert result.trace[0].startswith("compiled in")
            assert not list((tmp_path / "executables").glob("*"))

    @pytest.mark.verify
    def test_what_comes_from_it_trains_the_same(self, tmp_path: Path) -> None:
        weights = []
        for name in ("cold", "warm"):
            result = attempt(tmp_path / name, "emulator", "ON_DEMAND")
            weights.append(dict(np.load(result.directory / "weights.npz")))
        assert result.trace[0].startswith("loaded from")
        for name, cold in weights[0].items():
            np.testing.assert_array_equal(cold, weights[1][name], err_msg=name)

    def test_a_damaged_one_is_a_warning_and_a_compilation(self, tmp_path: Path) -> None:
        attempt(tmp_path / "ahead", "emulator", "PRE_COMPILE")
        for path in (tmp_path / "executables").iterdir():
            path.write_bytes(path.read_bytes()[:-5])
        result = attempt(tmp_path / "run", "emulator", "ON_DEMAND")
        assert result.done["reason"] == "completed"
        assert result.trace[0].startswith("compiled in")
        warned = [e for e in result.events if e["kind"] == "log" and e["level"] == "warning"]
        assert any("is not used" in event["message"] for event in warned)

    def test_pre_compile_fails_where_nothing_can_be_kept(self, tmp_path: Path) -> None:
        (tmp_path / "executables").write_text("a file, not a directory")
        result = attempt(tmp_path / "ahead", "emulator", "PRE_COMPILE")
        assert result.done["reason"] == "runner_error"
        assert "PRE_COMPILE cannot store the executable of" in result.done["message"]


def test_what_poplar_refuses_while_it_compiles_fails_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's environment causes the error: options of a spec are validated before."""
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"debug.retainDebugInformation": "perhaps"}')
    result = attempt(tmp_path / "work", "emulator", "ON_DEMAND")
    assert result.done["reason"] == "graph_refused", result.done
    assert "(Compile engine): invalid_option" in result.done["message"]
    assert result.phases[-1] == "compile"


class TestTheWait:
    def wait_policy(self) -> WaitPolicy:
        return WaitPolicy(1.0, 30.0, lambda: None, lambda wait: None)

    def test_names_the_holder_and_gives_up_in_time(self, tmp_path: Path) -> None:
        lease = Pool(tmp_path / "devices", 1).acquire(1, "job_0", self.wait_policy())
        result = attempt(tmp_path / "work", "emulator", "ON_DEMAND", acquire_timeout_seconds=0.2)
        lease.release()
        assert result.done["reason"] == "device_unavailable"
        assert "job_0" in result.done["message"]
        messages = [event["message"] for event in result.events if event["kind"] == "log"]
        assert any(
            line.startswith(
                "waiting for 1 emulated IPU(s): number 1 in the queue, behind job job_0"
            )
            for line in messages
        )
        assert [line.split(" ")[0] for line in result.trace] == ["compiled"]

    def test_holds_the_device_until_the_end_and_no_longer(self, tmp_path: Path) -> None:
        pool = Pool(tmp_path / "devices", 1)
        lease = pool.acquire(1, "job_0", self.wait_policy())
        release = threading.Timer(0.2, lease.release)
        release.start()
        result = attempt(tmp_path / "work", "emulator", "ON_DEMAND")
        release.join()
        assert result.done["reason"] == "completed"
        pool.acquire(1, "job_2", self.wait_policy()).release()

    def test_more_ipus_than_there_are_is_a_clear_failure(self, tmp_path: Path) -> None:
        result = attempt(tmp_path / "work", "emulator", "ON_DEMAND", ipus=2)
        assert result.done["reason"] == "device_unavailable"
        assert "--emulated-ipus" in result.done["message"]


def test_what_is_not_attached_gives_zeros_or_refuses() -> None:
    spec = spec_from(ipu_spec(KINDS["cpu"]))
    model = Model(spec, slots=4, threads=1)
    learned = CompileOnlyModel(model, "PRE_COMPILE").compute_gradients()
    assert [g.shape for g in learned.gradients] == [w.shape for w in model.trained]
    assert not any(np.any(np.asarray(array)) for array in [*learned.gradients, learned.sums])
    assert not np.any(CompileOnlyModel(model, "PRE_COMPILE").evaluate(3).predicted)
    with pytest.raises(CompilationOnly, match="configured for compilation only"):
        CompileOnlyModel(model, "NEVER").compute_gradients()

"""The process that checks a file: its limits, its environment and its end."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ipulse_core.sandbox.processes import tree_of
from ipulse_service.datasets import checking
from ipulse_service.reading import process
from ipulse_service.reading.isolation import Isolation
from tests.service.conditions import eventually
from tests.service.datasets.checks import checked, refusal
from tests.service.datasets.files import hdf5, n_mnist, npz, spikes
from tests.service.datasets.uploading import push
from tests.service.running import Program


def test_the_process_sees_no_secret_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert set(process.environment()) <= {
        *("PATH", "LANG", "TMPDIR", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
        *("HDF5_PLUGIN_PATH", "HDF5_USE_FILE_LOCKING"),
    }


def test_n23_what_is_ready_has_its_digest_and_was_not_read_by_the_service(
    program: Program,
) -> None:
    content = spikes()
    with program:
        version = push(program, content)
        assert version["state"] == "ready"
        path = f"/v1/datasets/{version['dataset']}/versions/1/content"
        stored = hashlib.sha256(program.user.get(path).content).hexdigest()
        assert stored == version["sha256"] == hashlib.sha256(content).hexdigest()
        assert program.process is not None
        mapped = Path(f"/proc/{program.process.pid}/maps").read_text()
    assert "pydantic_core" in mapped
    assert "numpy" not in mapped, "without which nothing reads such a file"


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["npz", "hdf5", "csv", "zip"])
def test_damage_anywhere_is_found_or_harmless(tmp_path: Path, kind: str) -> None:
    """60 files with a flipped bit, read by processes that may crash but may not hang."""
    whole = {
        "npz": spikes,
        "hdf5": lambda: hdf5(tmp_path / "whole.h5"),
        "csv": lambda: b"sample,time_ms,channel,label\n0,1,0,0\n1,9,1,1\n2,3,0,0\n",
        "zip": n_mnist,
    }[kind]()
    seed = 20
    random = np.random.RandomState(seed)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[random.randint(len(whole))] ^= 1 << random.randint(8)
        result = checked(bytes(damaged), tmp_path)
        assert result.trouble is None, f"seed {seed}"
        assert (result.facts is None) is (result.refusal is not None), f"seed {seed}"


def test_limits_are_set_before_the_file_is_opened(tmp_path: Path) -> None:
    program = (
        "import resource, signal; from ipulse_core.sandbox.limited_process import limit_process; "
        "limit_process(); "
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], "
        "resource.getrlimit(resource.RLIMIT_NOFILE)[0], signal.alarm(0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout.split()[0]) <= 4 * 2**30
    assert int(done.stdout.split()[1]) <= 1024
    assert 0 < int(done.stdout.split()[2]) <= 900, "it ends, also when its parent was killed"


def runs(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_check_can_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)  # reading it never ends
    before, begun = set(tree_of(os.getpid())), set[int]()
    calls = 0

    def must_stop() -> bool:
        nonlocal calls
        calls += 1
        begun.update(set(tree_of(os.getpid())) - before)
        return calls > 20  # until a sandbox has started its process

    with pytest.raises(process.ReadingStopped):
        checking.check(Isolation(False), path, tmp_path / "scratch", must_stop)
    assert begun
    eventually(lambda: not any(map(runs, begun)))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_values_of_another_type_are_no_facts(tmp_path: Path) -> None:
    """NaN where JSON has no NaN: such a file is refused, and the service continues."""
    times = [0.0, np.nan]
    content = npz(event_samples=[0, 1], event_times_ms=times, event_channels=[0, 1], labels=[0, 1])
    assert "no time" in refusal(content, tmp_path)

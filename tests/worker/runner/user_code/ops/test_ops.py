"""Custom ops in their sandbox: what they compute, and what they cannot do."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest

from ipulse_core.errors import InvalidInput
from ipulse_core.sandbox.unavailable import SandboxUnavailable
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.ops.ops import CustomOps
from tests.worker.runner.user_code.ops.packages import packed, project
from tests.worker.runner.user_code.ops.running_op import (
    NEURONS,
    described,
    expected,
    gain,
    limited,
    running,
    spikes,
)

requires_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)


@pytest.mark.old_python
@requires_bubblewrap
@pytest.mark.parametrize("backend", ["reference", "kernel", "emulator"])
def test_every_back_end_computes_what_the_reference_does(tmp_path: Path, backend: str) -> None:
    manifest = {"kernel": None} if backend == "reference" else {}
    kind = "emulator" if backend == "emulator" else "cpu"
    entering, gradient = spikes(), np.random.RandomState(4).normal(size=(5, 3, NEURONS))
    gradient = gradient.astype(np.float32)
    with running(tmp_path, kind, manifest=manifest) as ops:
        output = ops.forward(1, entering, [gain()])
        found = [output, *ops.backward(1, gradient, entering, [gain()], output)]
    assert len(found) == 3
    for array, exact in zip(found, expected(entering, gradient)):
        np.testing.assert_allclose(array, exact, rtol=1e-5, atol=1e-6)


def test_without_a_sandbox_only_where_the_operator_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable), running(tmp_path):
        pass
    monkeypatch.undo()
    (tmp_path / "again").mkdir()
    with running(tmp_path / "again", sandbox="none") as ops:
        assert ops.forward(1, spikes(), [gain()]).shape == (5, 3, NEURONS)


REFERENCE = """
import os, resource, socket, sys, time
import numpy as np

def forward(inputs, attributes):
    try:
{body}
        verdict = "done"
    except BaseException as error:
        verdict = type(error).__name__
    raise ValueError(f"verdict {{verdict}}")

def backward(gradients, inputs, outputs, attributes):
    return [inputs[0]]
"""


FAILING = """
import os, sys, time
import numpy as np

def forward(inputs, attributes):
    {line}

def backward(gradients, inputs, outputs, attributes):
    return [inputs[0]]
"""


def verdict_of(folder: Path, *lines: str) -> str:
    """Run lines in the op, and return what became of them."""
    body = "\n".join(f"        {line}" for line in lines)
    with running(folder, **{"reference.py": REFERENCE.format(body=body)}) as ops:
        with pytest.raises(ProgramFailure) as failed:
            ops.forward(1, spikes(), [gain()])
        assert isinstance(ops.failure, ProgramFailure)
    return failed.value.message.partition("verdict ")[2].rstrip(".")


@requires_bubblewrap
def test_it_reads_no_file_and_no_variable_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "token"
    secret.write_text("secret-of-the-worker")
    monkeypatch.setenv("IPULSE_TOKEN", "secret-of-the-worker")
    found = verdict_of(
        tmp_path,
        "texts = [str(sorted(os.environ.items()))]",
        f"paths = [{str(secret)!r}, '/proc/1/environ', '/proc/self/environ', '/etc/shadow']",
        f"paths += [f'/proc/{{pid}}/environ' for pid in ({os.getpid()}, os.getppid())]",
        "for path in paths:",
        "    try:",
        "        texts.append(open(path, errors='replace').read())",
        "    except OSError:",
        "        pass",
        "assert 'secret-of-the-worker' not in ''.join(texts)",
    )
    assert found == "done"


@requires_bubblewrap
def test_it_reaches_no_network(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        found = verdict_of(tmp_path, f"socket.create_connection(('127.0.0.1', {port}), 5)")
    assert found in ("ConnectionRefusedError", "OSError", "PermissionError")


@requires_bubblewrap
def test_it_writes_to_no_cache_and_no_package(tmp_path: Path) -> None:
    found = verdict_of(
        tmp_path,
        "import ipulse_core, numpy",
        "places = ['/package', '/op', '/usr', sys.prefix, os.path.dirname(numpy.__file__)]",
        "places += [os.path.dirname(ipulse_core.__file__), '/', '/dev', os.path.expanduser('~/x')]",
        "for place in places:",
        "    try:",
        "        os.makedirs(place, exist_ok=True)",
        "        open(os.path.join(place, 'mine'), 'w').write('x')",
        "    except OSError:",
        "        continue",
        "    assert place.startswith('/tmp'), place",
    )
    assert found == "done"
    assert [path.name for path in (tmp_path / "work").rglob("mine")] == []


@requires_bubblewrap
def test_it_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, disk_bytes=2**22)
    found = verdict_of(
        tmp_path,
        "file = open('/work/large', 'wb')",
        "while True:",
        "    file.write(b'x' * 2**20)",
    )
    assert found == "OSError"


@requires_bubblewrap
def test_it_forks_only_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, processes=16)
    found = verdict_of(
        tmp_path,
        "while True:",
        "    if os.fork() == 0:",
        "        time.sleep(600)",
    )
    assert found == "BlockingIOError"


@requires_bubblewrap
@pytest.mark.parametrize(
    ("line", "reason", "words"),
    [
        ("return [np.ones(2**40)]", Reason.OUT_OF_MEMORY, "MiB of memory"),
        ("kept = [np.ones(2**20) for _ in range(10**6)]", Reason.OUT_OF_MEMORY, "MiB of memory"),
        ("time.sleep(600)", Reason.LIMIT_EXCEEDED, "did not return from forward"),
        (
            "[os.write(int(sys.argv[-1]), bytes(1)) and time.sleep(0.05) for _ in range(10**6)]",
            Reason.LIMIT_EXCEEDED,
            "did not return from forward",
        ),
        ("raise ValueError('a\\x1b[31m\\0b')", Reason.PROGRAM_FAILED, "a\ufffd[31m\ufffdb"),
        ("os._exit(0)", Reason.PROGRAM_FAILED, "ended its process"),
        ("return [np.zeros((5, 3, 9))]", Reason.PROGRAM_FAILED, "(5, 3, 9)"),
        ("return [np.full((5, 3, 4), 0.5)]", Reason.PROGRAM_FAILED, "0.5"),
        ("return 3", Reason.PROGRAM_FAILED, "int"),
    ],
)
def test_an_op_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, reason: Reason, words: str
) -> None:
    limited(monkeypatch, memory_bytes=2**29)
    if reason is Reason.LIMIT_EXCEEDED:
        monkeypatch.setattr(budget, "ANSWER_SECONDS", 3.0)
    code = FAILING.format(line=line)
    with running(tmp_path, **{"reference.py": code}) as ops:
        for _ in range(2):  # the first error stays
            with pytest.raises(ProgramFailure) as failed:
                ops.forward(1, spikes(), [gain()])
            assert failed.value.reason is reason
            assert words in failed.value.message


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("reference.py", "nothing = missing", "missing"),
        ("reference.py", "def forward(inputs, attributes):\n    return inputs\n", "backward"),
    ],
)
@requires_bubblewrap
def test_an_op_that_cannot_be_loaded_says_why(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    with pytest.raises(ProgramFailure) as failed, running(tmp_path, **{name: text}):
        pass
    assert failed.value.reason is Reason.BUILD_FAILED
    assert words in failed.value.message


@requires_bubblewrap
def test_a_kernel_that_does_not_compile_says_why(tmp_path: Path) -> None:
    files = {"kernel.cpp": "int forward() { return nothing; }", "manifest": {}}
    with pytest.raises(ProgramFailure) as failed, running(tmp_path, **files):
        pass
    assert failed.value.reason is Reason.BUILD_FAILED
    assert "kernel.cpp" in failed.value.message
    assert "nothing" in failed.value.message


@requires_bubblewrap
def test_a_package_with_another_digest_is_refused(tmp_path: Path) -> None:
    package = packed(project(tmp_path / "op-project"))
    package.path.write_bytes(package.path.read_bytes() + b"\0" * 512)
    (tmp_path / "work").mkdir()
    spec = described(package.reference, {"kind": "cpu"})
    packages = {package.digest: str(package.path)}
    with pytest.raises(InvalidInput, match="digest"):
        CustomOps(spec, packages, tmp_path / "work", {}, lambda line: None, lambda: None)

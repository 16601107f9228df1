"""Where documents are read: in a sandbox, without one, or not at all."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from ipulse_core.sandbox.unavailable import SandboxSilent
from ipulse_service.reading import isolation, process
from ipulse_service.reading.isolation import Isolation, NoSandbox
from tests.service.conditions import eventually
from tests.service.datasets.uploading import announce, check_refused, send
from tests.service.large_documents import archive
from tests.service.running import InProcess

WITHOUT = {"IPULSE_SANDBOX": "none"}
# A stand-in for a module that a document took over: it reports its view and its rights.
SPY = """
import json, os, pathlib, socket, sys
document, other, rows = sys.argv[1:]
def attempt(what):
    try:
        return what()
    except OSError as error:
        return type(error).__name__
found = {
    "document": pathlib.Path(document).read_text(),
    "other": attempt(lambda: pathlib.Path(other).read_text()),
    "overwritten": attempt(lambda: pathlib.Path(document).write_text("changed")),
    "network": attempt(lambda: socket.create_connection(("127.0.0.1", 1), 1)),
    "folder": sorted(os.listdir()),
}
pathlib.Path("unpacked").write_text("x")
os.write(int(rows), b"a row")
print(json.dumps(found))
"""


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in a package that readers see."""
    folder = tmp_path / "packages" / "spies"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "spy.py").write_text(SPY)
    package = ModuleType("spies")
    package.__file__ = str(folder / "__init__.py")
    monkeypatch.setattr(isolation, "PACKAGES", (*isolation.PACKAGES, package))
    launcher = f"import sys, runpy; sys.path.insert(0, {str(folder.parent)!r})"
    monkeypatch.setattr(
        isolation,
        "_PYTHON",
        [sys.executable, "-I", "-c", f"{launcher}; runpy.run_module(sys.argv.pop(1))"],
    )
    return "spies.spy"


def test_a_reader_sees_its_document_and_nothing_else(tmp_path: Path, spy: str) -> None:
    try:
        isolation.require_bubblewrap()
    except isolation.SandboxUnavailable as error:
        pytest.skip(str(error))
    document, other = tmp_path / "document", tmp_path / "other"
    for path in (document, other):
        path.write_text(path.name)
        path.chmod(0o600)
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    with (tmp_path / "rows").open("w+b") as rows:
        ended = process.run(
            Isolation(True, {}), spy, [document, str(other)], folder, 60, lambda: False, rows
        )
        rows.seek(0)
        assert rows.read() == b"a row"
    assert ended.status == 0
    found = json.loads(ended.output)
    assert found["document"] == "document"
    assert found["other"] == "FileNotFoundError"
    assert found["overwritten"] in ("PermissionError", "OSError")
    assert found["network"] in ("ConnectionRefusedError", "OSError", "PermissionError")
    assert (folder / "unpacked").read_text() == "x"
    assert document.read_text() == "document"


def test_without_a_sandbox_documents_are_read_or_refused(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.wait_until_ready()
    reader = service.state.reader
    content = archive(3)
    begun = announce(service, content, purpose="archive").json()
    assert send(service, begun["id"], content).status_code == 204
    monkeypatch.setattr(reader, "isolation", Isolation(True, WITHOUT))
    ready = service.user.get("/readyz").json()
    assert (ready["document_sandbox"], ready["accepts_documents"]) == ("off", False)
    answer = service.user.post("/v1/jobs:import", json={"upload_id": begun["id"]})
    check_refused(answer, 503, "no_sandbox")
    monkeypatch.setattr(reader, "isolation", Isolation(False, WITHOUT))
    assert service.user.get("/readyz").json()["accepts_documents"] is True
    assert service.user.post("/v1/jobs:import", json={"upload_id": begun["id"]}).status_code == 201


def test_a_probe_that_failed_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [isolation.SandboxUnavailable("bubblewrap does not answer"), None]

    def probe() -> None:
        if error := answers.pop(0):
            raise error

    monkeypatch.setattr(isolation, "require_bubblewrap", probe)
    monkeypatch.setattr(isolation, "PROBE_SECONDS", 0.0)
    found = Isolation(True, {})
    with pytest.raises(NoSandbox, match="does not answer"):
        found.check()
    assert found.check() is True
    assert found.state() == ("bubblewrap", "")  # it is not tried again


class Probes:
    """Stands in for bubblewrap, which is silent until it `answers`; counts its probes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = False
        self.begun = 0
        self.may_end = threading.Event()
        monkeypatch.setattr(isolation, "require_bubblewrap", self)

    def __call__(self) -> None:
        self.begun += 1
        assert self.may_end.wait(30)
        if not self.answers:
            raise SandboxSilent("bubblewrap did not answer within 20 s")


def wait_until_tried(service: InProcess) -> None:
    """Waits until the service itself has tried the real bubblewrap."""
    service.wait_until_ready()
    eventually(lambda: service.user.get("/readyz").json()["document_sandbox"] != "unknown")


@pytest.mark.parametrize("is_required", [False, True])
def test_no_document_is_read_while_the_sandbox_is_silent(
    service: InProcess, monkeypatch: pytest.MonkeyPatch, is_required: bool
) -> None:
    wait_until_tried(service)
    content = archive(3)
    begun = announce(service, content, purpose="archive").json()
    assert send(service, begun["id"], content).status_code == 204
    monkeypatch.setattr(service.state.reader, "isolation", found := Isolation(is_required, {}))
    probes = Probes(monkeypatch)
    probes.may_end.set()
    for number in (1, 2):
        answer = service.user.post("/v1/jobs:import", json={"upload_id": begun["id"]})
        check_refused(answer, 503, "unavailable")
        assert answer.headers["retry-after"]
        assert probes.begun == number, "the next document tries it again"
    assert service.user.get("/readyz").json()["document_sandbox"] == "unknown"
    probes.answers = True
    assert found.check() is True


def test_readiness_neither_probes_nor_waits_for_a_probe(
    service: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until_tried(service)
    monkeypatch.setattr(service.state.reader, "isolation", found := Isolation(True, {}))
    probes = Probes(monkeypatch)
    assert service.user.get("/readyz").json()["document_sandbox"] == "unknown"
    assert probes.begun == 0
    with ThreadPoolExecutor(3) as readers:
        reading = [readers.submit(found.check) for _ in range(3)]
        eventually(lambda: probes.begun)
        ready = service.user.get("/readyz").json()
        assert (ready["document_sandbox"], ready["accepts_documents"]) == ("unknown", True)
        probes.answers = True
        probes.may_end.set()
        assert all(each.result() for each in reading)
    assert probes.begun == 1, "one thread tries it, for all"
    assert service.user.get("/readyz").json()["document_sandbox"] == "bubblewrap"


def test_the_service_tries_its_sandbox_by_itself(service: InProcess) -> None:
    wait_until_tried(service)

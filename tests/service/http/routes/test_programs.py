"""Programs: who may send them, and what of a package is checked before it is stored."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import httpx
import pytest

from ipulse_core.source_package import PackedFile, write_package
from tests.service.datasets.files import spikes
from tests.service.datasets.uploading import check_refused, push
from tests.service.http.routes.test_queue import announce, claim
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess

SOURCES = [PackedFile("main.cpp", b"int main() {}")]


def package(files: list[PackedFile] = SOURCES) -> bytes:
    content = io.BytesIO()
    write_package(files, content)
    return content.getvalue()


def with_link() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo("main.cpp")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    return content.getvalue()


def spec(content: bytes, **changes: Any) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    return {
        "version": 1,
        "kind": "poplar_program",
        "package": f"sha256:{digest}",
        "sources": ["main.cpp"],
        **changes,
    }


def announced(client: httpx.Client, content: bytes) -> httpx.Response:
    digest = hashlib.sha256(content).hexdigest()
    body = {"size": len(content), "sha256": digest, "purpose": "program"}
    return client.post("/v1/uploads", json=body)


def pushed(client: httpx.Client, content: bytes) -> httpx.Response:
    """Announces and sends a package; returns the answer to the last bytes."""
    begun = announced(client, content)
    assert begun.status_code in (200, 201), begun.text
    headers = {"upload-offset": "0", "content-type": "application/octet-stream"}
    return client.patch(begun.headers["location"], content=content, headers=headers)


@pytest.fixture
def coder(service: InProcess) -> Iterator[httpx.Client]:
    """A client with a token that may submit code."""
    with coding(service) as client:
        yield client


@contextmanager
def coding(service: InProcess) -> Iterator[httpx.Client]:
    """Makes a client with a token that may submit code."""
    body = {"name": "coder", "role": "user", "seconds": 600, "submit_code": True}
    token = service.user.post("/v1/tokens", json=body).json()["token"]
    with service.client() as client:
        client.headers["authorization"] = f"Bearer {token}"
        yield client


def test_a_token_without_the_right_can_neither_push_nor_submit(
    service: InProcess, coder: httpx.Client
) -> None:
    content = package()
    check_refused(announced(service.user, content), 403, "code_not_permitted")
    assert pushed(coder, content).status_code == 204
    # Also where the package is known: the owner's own token is none of those that may.
    check_refused(service.user.post("/v1/jobs", json=spec(content)), 403, "code_not_permitted")
    job = coder.post("/v1/jobs", json=spec(content))
    assert job.status_code == 202, job.text
    assert job.json()["device"] == "emulator"
    assert job.json()["spec"]["limits"]["seconds"] > 0


def test_the_right_ends_with_its_token(service: InProcess, coder: httpx.Client) -> None:
    token_id = coder.headers["authorization"].split("_")[1]
    assert service.user.delete(f"/v1/tokens/{token_id}").status_code == 204
    assert announced(coder, package()).status_code == 401


@pytest.mark.parametrize("content", [b"no archive", with_link()], ids=["text", "link"])
def test_a_bad_package_is_refused_and_not_stored(
    service: InProcess, coder: httpx.Client, content: bytes
) -> None:
    refused = pushed(coder, content)
    check_refused(refused, 422, "invalid_package")
    digest = hashlib.sha256(content).hexdigest()
    assert not (service.settings.artifacts_dir / "sha256" / digest[:2] / digest).exists()
    check_refused(coder.post("/v1/jobs", json=spec(content)), 422, "invalid_input", "/package")


def test_a_package_with_another_digest_is_refused(coder: httpx.Client) -> None:
    content = package()
    begun = announced(coder, content)
    headers = {"upload-offset": "0", "content-type": "application/octet-stream"}
    other = content.replace(b"int", b"INT")
    sent = coder.patch(begun.headers["location"], content=other, headers=headers)
    check_refused(sent, 422, "wrong_content", "/body/sha256")


def test_a_package_that_is_too_large_is_refused_before_it_is_sent(coder: httpx.Client) -> None:
    body = {"size": 17 * 2**20, "sha256": "0" * 64, "purpose": "program"}
    check_refused(coder.post("/v1/uploads", json=body), 413, "too_large")


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"kind": "binary"}, "/kind"),
        ({"sources": []}, "/sources"),
        ({"sources": ["../main.cpp"]}, "/sources/0"),
        ({"sources": ["/etc/passwd"]}, "/sources/0"),
        ({"package": "folder"}, "/package"),
        ({"codelets": ["a/v.cpp", "b/v.cpp"]}, "/codelets/1"),
        ({"device": {"ipus": 3}}, "/device/ipus"),
        ({"device": {"kind": "cpu"}}, "/device/kind"),
        ({"device": {"kind": "ipu"}, "sanitize": True}, "/sanitize"),
        ({"device": {"engine_options": {"autoReport.all": "true"}}}, "/device/engine_options"),
        (
            {"device": {"kind": "ipu", "engine_options": {"autoReport.directory": "x"}}},
            "/device/engine_options/autoReport.directory",
        ),
        ({"limits": {"seconds": 0}}, "/limits/seconds"),
        ({"network": {}}, "/network"),
    ],
)
def test_what_is_wrong_in_a_spec_has_its_place(
    coder: httpx.Client, changes: dict[str, Any], pointer: str
) -> None:
    problem = coder.post("/v1/jobs", json=spec(package(), **changes)).json()
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


SCRIPT = [PackedFile("train.py", b"print(1)")]


def script(content: bytes, **changes: Any) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    given = {"version": 1, "kind": "script", "package": f"sha256:{digest}", "script": "train.py"}
    return {**given, **changes}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"script": "/etc/passwd"}, "/script"),
        ({"requirements": ["torch"]}, "/requirements/0"),
        ({"device": {"kind": "ipu"}}, "/device/kind"),
        ({"device": {"ipus": 3}}, "/device/ipus"),
        ({"device": {"ipus": 128}}, "/device/ipus"),
        ({"custom_ops": [{"name": "a.so", "sources": ["a.cpp"]}] * 2}, "/custom_ops/1/name"),
        ({"data": {"dataset": "nobody-pushed-it"}}, "/data/dataset"),
        ({"network": {}}, "/network"),
    ],
)
def test_what_is_wrong_in_the_spec_of_a_script_has_its_place(
    coder: httpx.Client, changes: dict[str, Any], pointer: str
) -> None:
    problem = coder.post("/v1/jobs", json=script(package(SCRIPT), **changes)).json()
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


def test_a_script_is_code_and_gets_the_digest_of_its_data(
    service: InProcess, coder: httpx.Client
) -> None:
    content = package(SCRIPT)
    pushed(coder, content)
    check_refused(service.user.post("/v1/jobs", json=script(content)), 403, "code_not_permitted")
    version = push(service, spikes())
    data = {"dataset": version["dataset"]}
    wrong = coder.post("/v1/jobs", json=script(content, data={**data, "kind": "events"}))
    check_refused(wrong, 422, "invalid_spec", "/data/kind")
    job = coder.post("/v1/jobs", json=script(content, data=data))
    assert job.status_code == 202, job.text
    assert job.json()["spec"]["data"]["dataset"] == f"sha256:{version['sha256']}"


def test_a_program_does_not_continue_a_training(service: InProcess, coder: httpx.Client) -> None:
    content = package()
    pushed(coder, content)
    job = coder.post("/v1/jobs", json=spec(content)).json()["id"]
    continued = coder.post(f"/v1/jobs/{job}/continue", json={"epochs": 3})
    assert continued.status_code == 409, continued.text
    service.user.post(f"/v1/jobs/{job}/cancel")
    for answer in (
        coder.post("/v1/jobs", json=spec(content), params={"start_from": job}),
        coder.post(f"/v1/jobs/{job}/continue", json={"epochs": 3}),
    ):
        assert answer.status_code in (409, 422), answer.text
    for mode in ("continue", "weights"):
        query = {"start_from": job, "start_mode": mode}
        problem = check_problem(coder.post("/v1/jobs", json=SPEC, params=query), 409)
        assert problem["code"] == "nothing_to_start_from"


def test_a_sweep_of_programs_is_refused(coder: httpx.Client) -> None:
    body = {"version": 1, "spec": spec(package()), "method": "grid", "parameters": {}}
    assert coder.post("/v1/sweeps", json=body).status_code == 422


class TestSandbox:
    """Only agents with a sandbox get programs, and without one they are refused with words."""

    MISSING: ClassVar[dict[str, str]] = {"state": "missing", "message": "bwrap is missing"}

    def test_without_any_a_program_is_refused(self, alone: InProcess) -> None:
        with coding(alone) as client:
            content = package()
            pushed(client, content)
            announce(alone, "a", "emulator", sandbox=self.MISSING)
            for path in ("/v1/jobs", "/v1/jobs:validate"):
                problem = check_problem(client.post(path, json=spec(content)), 422)
                assert problem["errors"][0]["code"] == "no_sandbox"
                assert "bwrap is missing" in problem["errors"][0]["detail"]
            emulated = {**SPEC, "device": {"kind": "emulator"}}
            assert client.post("/v1/jobs", json=emulated).status_code == 202  # no code of users

    def test_one_for_ipus_waits_for_an_agent_with_ipus(self, alone: InProcess) -> None:
        with coding(alone) as client:
            content = package()
            pushed(client, content)
            announce(alone, "a", "emulator", sandbox={"state": "bubblewrap"})
            wanted = spec(content, device={"kind": "ipu", "ipus": 2})
            refused = check_problem(client.post("/v1/jobs", json=wanted), 422)
            assert refused["errors"][0]["code"] == "no_such_device"
            announce(alone, "b", "ipu", sandbox={"state": "bubblewrap"}, ipus={"ipu": 1})
            refused = check_problem(client.post("/v1/jobs", json=wanted), 422)
            assert refused["errors"][0]["code"] == "too_few_devices"
            announce(alone, "c", "ipu", sandbox={"state": "bubblewrap"}, ipus={"ipu": 4})
            job = client.post("/v1/jobs", json=wanted)
            assert job.status_code == 202, job.text
            assert claim(alone, "c", "ipu").claim["job_id"] == job.json()["id"]

    def test_only_an_agent_with_one_gets_it(self, alone: InProcess) -> None:
        with coding(alone) as client:
            content = package()
            pushed(client, content)
            announce(alone, "a", "emulator", sandbox=self.MISSING)
            announce(alone, "b", "emulator", sandbox={"state": "bubblewrap"})
            job = client.post("/v1/jobs", json=spec(content)).json()
            body = {"agent": "a", "device_kinds": ["emulator"], "job_id": job["id"]}
            refused = alone.worker.post("/v1/worker/claims", json=body)
            assert check_problem(refused, 409)["code"] == "not_claimable"
            assert claim(alone, "b", "emulator").claim["job_id"] == job["id"]
        listed = {
            one["name"]: one["sandbox"] for one in alone.user.get("/v1/agents").json()["agents"]
        }
        assert listed["a"] == self.MISSING
        assert listed["b"]["state"] == "bubblewrap"

    def test_a_script_is_refused_where_no_agent_can_run_it(self, alone: InProcess) -> None:
        with coding(alone) as client:
            content = package(SCRIPT)
            pushed(client, content)
            capabilities = {"ipu-tensorflow-emulator": False, "sandbox": "bubblewrap"}
            sandbox = {"state": "bubblewrap"}
            announce(alone, "a", "emulator", sandbox=sandbox, capabilities=capabilities)
            problem = check_problem(client.post("/v1/jobs", json=script(content)), 422)
            assert "ipu-tensorflow-emulator" in problem["errors"][0]["detail"]
            capabilities = {"ipu-tensorflow-emulator": True, "sandbox": "bubblewrap"}
            announce(alone, "b", "emulator", sandbox=sandbox, capabilities=capabilities)
            job = client.post("/v1/jobs", json=script(content))
            assert claim(alone, "b", "emulator").claim["job_id"] == job.json()["id"]

    def test_an_agent_that_does_not_say_gets_none(self, alone: InProcess) -> None:
        """Neither one of an older version, nor one that claims before it has registered."""
        with coding(alone) as client:
            content = package()
            pushed(client, content)
            job = client.post("/v1/jobs", json=spec(content)).json()["id"]  # before any agent
            announce(alone, "old", "emulator")
            for agent in ("old", "unknown"):
                body = {"agent": agent, "device_kinds": ["emulator"], "job_id": job}
                refused = alone.worker.post("/v1/worker/claims", json=body)
                assert check_problem(refused, 409)["code"] == "not_claimable", agent
            problem = check_problem(client.post("/v1/jobs", json=spec(content)), 422)
            assert problem["errors"][0]["code"] == "no_sandbox"
            assert "old does not say" in problem["errors"][0]["detail"]
            announce(alone, "old", "emulator", sandbox={"state": "off"})  # it was upgraded
            assert claim(alone, "old", "emulator").claim["job_id"] == job

"""Clients that others' generators make from the OpenAPI document put jobs through a real stack."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_core.messages import PROTOCOL
from tests import local_agents

from .generators import HERE, Generators

pytestmark = [pytest.mark.generated_clients, pytest.mark.verify, pytest.mark.timeout(1800)]

# Imports neither of ours nor of the caller's environment: the program is any user's.
PYTHON_CONFIG = """\
[mypy]
strict = True
# For lists of any values the generator casts what isinstance has narrowed already.
warn_redundant_casts = False
# The generator's own template passes this to httpx.
[mypy-generated.client]
disable_error_code = arg-type
"""


@pytest.fixture(scope="module")
def generators() -> Generators:
    found = Generators()
    found.install()
    return found


@pytest.fixture
def document(stack: Stack, tmp_path: Path) -> Path:
    headers = {"authorization": f"Bearer {stack.token_path.read_text().strip()}"}
    path = tmp_path / "openapi.json"
    path.write_bytes(httpx.get(f"{stack.url}/openapi.json", headers=headers).content)
    return path


def environment(stack: Stack, folder: Path, agent: str) -> dict[str, object]:
    return {
        "IPULSE_URL": stack.url,
        "IPULSE_TOKEN": stack.token_path.read_text().strip(),
        "IPULSE_WORKER_TOKEN": local_agents.token(stack.home, agent),
        "IPULSE_PROTOCOL": PROTOCOL,
        "FOLDER": folder,
    }


def check_results(client: Connection, printed: str, folder: Path) -> None:
    jobs: dict[str, Any] = json.loads(printed.splitlines()[-1])
    trained = client.job(jobs["trained"])
    assert trained.succeeded
    artifacts = client.job(trained.id).artifacts()
    assert {"weights", "report", "manifest"} <= {artifact.role for artifact in artifacts}
    for artifact in artifacts:
        content = (folder / artifact.name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == artifact.sha256
    assert client.job(jobs["uploaded"]).reason == "diverged"
    uploaded = (folder / "uploaded" / "upload.log").read_bytes()
    assert uploaded == b"uploaded by a generated client"


def typescript_program(generators: Generators, name: str, folder: Path) -> Path:
    """Copies a program to its generated client and checks the types of both."""
    for file in (name, "shared.ts", "tsconfig.json", "package.json"):
        shutil.copy(HERE / file, folder)
    (folder / "node_modules").symlink_to(generators.modules)
    generators.run("tsc", "--project", folder, folder=folder)
    return folder / name


def test_openapi_python_client(
    generators: Generators, stack: Stack, client: Connection, document: Path, tmp_path: Path
) -> None:
    options = ("--path", document, "--output-path", tmp_path / "generated", "--meta", "none")
    printed = generators.run("openapi-python-client", "generate", *options, "--fail-on-warning")
    assert "warning" not in printed.lower()
    shutil.copy(HERE / "python_program.py", tmp_path)
    (tmp_path / "mypy.ini").write_text(PYTHON_CONFIG)
    generators.run("mypy", "python_program.py", "generated", folder=tmp_path)
    results = tmp_path / "results"
    results.mkdir()
    variables = environment(stack, results, "generated-python")
    printed = generators.run("python", "python_program.py", results, folder=tmp_path, **variables)
    check_results(client, printed, results)


def test_hey_api(
    generators: Generators, stack: Stack, client: Connection, document: Path, tmp_path: Path
) -> None:
    paths = {"OPENAPI": document, "OUTPUT": tmp_path / "generated"}
    printed = generators.run("openapi-ts", folder=HERE, **paths)
    assert "warn" not in printed.lower().replace("npm warn", "")
    program = typescript_program(generators, "hey_program.ts", tmp_path)
    results = tmp_path / "results"
    variables = environment(stack, results, "generated-hey")
    printed = generators.run("node", program, folder=tmp_path, **variables)
    check_results(client, printed, results)


def test_openapi_typescript(
    generators: Generators, stack: Stack, client: Connection, document: Path, tmp_path: Path
) -> None:
    # A field with a default may be left out.
    options = ("--default-non-nullable", "false", "--output", tmp_path / "generated" / "schema.ts")
    printed = generators.run("openapi-typescript", document, *options)
    assert "warn" not in printed.lower()
    program = typescript_program(generators, "fetch_program.ts", tmp_path)
    results = tmp_path / "results"
    variables = environment(stack, results, "generated-fetch")
    printed = generators.run("node", program, folder=tmp_path, **variables)
    check_results(client, printed, results)

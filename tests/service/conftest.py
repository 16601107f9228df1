"""A real Redis and PostgreSQL for the session, and a service on each database where asked for."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from moto.server import ThreadedMotoServer
from selenium import webdriver

from ipulse.stack.program_log import ProgramLog
from ipulse.stack.redis_server import RedisServer, find_redis_server
from ipulse_core.errors import MissingDependency
from ipulse_service.selftest.postgresql import programs
from tests.case_sample import DATABASES
from tests.network_log import policy_violations

from .chromium import started_browser
from .postgresql_server import PostgreSQLServer
from .running import InProcess, Program, settings_for

PATIENCE = 20  # seconds in which a service may end its work

LEASE_SECONDS = 600.0  # longer than the tests of a module take, on a busy machine too


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    try:
        program = find_redis_server()
    except MissingDependency as error:
        pytest.skip(str(error))
    directory = tmp_path_factory.mktemp("redis", numbered=True)
    directory.chmod(0o700)
    server = RedisServer(directory, ProgramLog(directory / "redis.log"), program)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def broker(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """The session's Redis, emptied."""
    with redis.Redis(unix_socket_path=str(redis_server.socket)) as client:
        client.flushall()
        yield client


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQLServer]:
    try:
        folder = programs()
    except MissingDependency as error:
        pytest.skip(str(error))
    with PostgreSQLServer(folder) as server:
        yield server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat a test on PostgreSQL where the marker says that SQL or locks differ there."""
    if "database_settings" not in metafunc.fixturenames:
        return
    if metafunc.definition.get_closest_marker("postgresql"):
        metafunc.parametrize("database_settings", DATABASES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def database_settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of the database: SQLite, or PostgreSQL in turn for tests with its marker."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return {}
    server: PostgreSQLServer = request.getfixturevalue("postgresql_server")
    return {"database_url": server.new_database()}


@pytest.fixture(scope="module")
def service(
    redis_server: RedisServer,
    tmp_path_factory: pytest.TempPathFactory,
    database_settings: dict[str, Any],
) -> Iterator[InProcess]:
    """One service for all tests of a module; each submits jobs of its own, and what one leaves is
    no other's trouble: its leases end when a test says so."""
    home = tmp_path_factory.mktemp("home")
    settings = {"lease_seconds": LEASE_SECONDS, **database_settings}
    with InProcess(settings_for(home, redis_server.url, **settings)) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    """One browser for the pages of all tests."""
    with started_browser() as started:
        yield started


@pytest.fixture(scope="module")
def driver(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """The browser; no page of the module may try what its policy forbids."""
    yield chromium
    assert policy_violations(chromium) == []
    chromium.get("about:blank")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """An S3-compatible server in this process."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_settings(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a new, empty bucket."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ours")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    bucket = f"bucket-{secrets.token_hex(8)}"
    boto3.client("s3", endpoint_url=s3_endpoint).create_bucket(Bucket=bucket)
    return {"s3_bucket": bucket, "s3_endpoint_url": s3_endpoint}


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that it vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    paths = (tmp_path / "certificate.pem", tmp_path / "key.pem")
    paths[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.fixture
def program(home: Path, redis_server: RedisServer, broker: redis.Redis) -> Program:
    # So patient that a busy machine ends in time, and a service that waits for a reader does not.
    patient = {"IPULSE_SHUTDOWN_SECONDS": str(PATIENCE), "IPULSE_LEASE_SECONDS": "600"}
    return Program(settings_for(home, redis_server.url, shutdown_seconds=PATIENCE), **patient)

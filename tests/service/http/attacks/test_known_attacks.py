"""Published attacks on similar services, tried on this one; each class names its case."""

from __future__ import annotations

import ast
import socket
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from pydantic import ValidationError

from ipulse.stack.redis_server import RedisServer
from ipulse_service.background.celery_queue import WakeUpQueue
from ipulse_service.settings import Settings
from ipulse_worker.agent.celery_app import make_application
from tests.service.http.routes.test_submission import check_problem
from tests.service.running import SPEC, InProcess, settings_for

ROOT = Path(__file__).resolve().parents[4]


def lock(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text()


class TestRayCVE202348022:
    """Jobs from anybody, as shell commands, on every interface."""

    def test_a_submission_from_this_machine_needs_a_token(self, service: InProcess) -> None:
        with service.client() as nobody:
            assert nobody.post("/v1/jobs", json=SPEC).status_code == 401

    def test_other_machines_are_answered_only_with_tls_or_on_request(self, tmp_path: Path) -> None:
        for host in ("0.0.0.0", "::", "192.0.2.1"):  # noqa: S104 - that it is refused is the test
            with pytest.raises(ValidationError, match="IPULSE_TLS_KEY"):
                Settings(home=tmp_path, host=host)
            files = {"tls_certificate": tmp_path / "cert", "tls_key": tmp_path / "key"}
            assert Settings(home=tmp_path, host=host, **files).host == host

    def test_a_spec_is_data_and_holds_no_command(self, service: InProcess) -> None:
        for name in ("entrypoint", "command", "runtime_env", "image"):
            response = service.user.post("/v1/jobs", json={**SPEC, name: "touch /tmp/owned"})
            problem = check_problem(response, 422)
            assert problem["errors"][0]["pointer"] == f"/{name}"


class TestRayCVE202562593:
    """A page in a browser reaches the service on this machine."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"host": "rebound.example"},
            {"origin": "https://evil.example"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
        ],
    )
    def test_a_page_of_another_site_is_refused_even_with_the_token(
        self, service: InProcess, headers: dict[str, str]
    ) -> None:
        headers = {**headers, "user-agent": "Mozilla/5.0"}
        response = service.user.post("/v1/jobs", json=SPEC, headers=headers)
        assert check_problem(response, 400)["code"] == "wrong_host"

    def test_a_form_cannot_submit(self, service: InProcess) -> None:
        for media_type in ("text/plain", "application/x-www-form-urlencoded"):
            response = service.user.post(
                "/v1/jobs", content=b"{}", headers={"content-type": media_type}
            )
            check_problem(response, 415)

    def test_a_cookie_is_no_token(self, service: InProcess) -> None:
        token = service.settings.token_file.read_text().strip()
        with service.client() as nobody:
            headers = {"cookie": f"token={token}; authorization=Bearer {token}"}
            assert nobody.get("/v1/jobs", headers=headers).status_code == 401


class TestClearMLCVE202424590:
    """Artifacts that run code when they are loaded; also MLflow's CVE-2024-37052 to 37061."""

    def test_nothing_here_unpickles(self) -> None:
        loaders = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
        for folder in ("ipulse", "service", "worker"):
            for path in (ROOT / folder).rglob("*.py"):
                for node in ast.walk(ast.parse(path.read_text())):
                    names: list[str] = []
                    if isinstance(node, ast.Import):
                        names = [alias.name for alias in node.names]
                    elif isinstance(node, ast.ImportFrom):
                        names = [node.module or ""]
                    assert not loaders & {name.partition(".")[0] for name in names}, path
                    if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                        assert isinstance(node.value, ast.Constant)
                        assert node.value.value is False, path

    def test_a_page_among_the_artifacts_is_saved_and_not_run(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        attempt.put("x.html", "report", b"<script>", {"media_type": "text/html"})
        [listed] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
        answer = service.user.get(f"/v1/jobs/{job_id}/artifacts/{listed['id']}/content")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")


class TestCeleryCVE202123727:
    """Commands through a broker or its results; Airflow's CVE-2020-11981 likewise."""

    def test_both_ends_speak_json_and_keep_no_results(self) -> None:
        agent = make_application("memory://", ["cpu"])
        service = WakeUpQueue("memory://")._celery
        for application in (agent, service):
            assert set(application.conf.accept_content) == {"json"}
            assert application.conf.task_serializer == "json"
            assert application.conf.task_ignore_result
            assert application.conf.result_backend is None
        assert not agent.tasks  # Celery's own; the agent adds one


class TestFlowerCVE202230034:
    """A view of the queue that everybody may look at."""

    def test_there_is_none(self) -> None:
        for name in ("runtime", "dev", "service", "worker-cpu"):
            assert "\nflower==" not in lock(name)

    def test_what_shows_the_queue_asks_for_a_token(self, service: InProcess) -> None:
        """Queue lengths, waiting jobs and agents are readable only with a token."""
        service.wait_until_ready()
        job_id = service.submit()["id"]
        paths = ("/metrics", "/v1/jobs", "/v1/jobs?state=queued", f"/v1/jobs/{job_id}")
        with service.client() as nobody:
            for path in paths:
                answer = nobody.get(path)
                assert answer.status_code == 401
                assert job_id not in answer.text.replace(path, "")
            for path in ("/healthz", "/readyz"):  # open, and say no more than that
                known = {"status", "checks", "document_sandbox", "accepts_documents"}
                assert set(nobody.get(path).json()) <= known
        assert job_id in service.user.get("/v1/jobs?state=queued").text


class TestStarletteCVE202562727:
    """A Range header with many ranges takes time proportional to the square of their number."""

    def test_many_ranges_are_refused_at_once(self, service: InProcess) -> None:
        job_id = service.submit()["id"]
        attempt = service.attempt(job_id)
        attempt.put("w", "weights", b"x" * 1000)
        [listed] = service.user.get(f"/v1/jobs/{job_id}/artifacts").json()["artifacts"]
        path = f"/v1/jobs/{job_id}/artifacts/{listed['id']}/content"
        ranges = ",".join(f"{n}-{n + 1}" for n in range(4000))
        began = time.monotonic()
        response = service.user.get(path, headers={"range": f"bytes={ranges}"})
        assert response.status_code == 416
        assert response.headers["content-range"] == "bytes */1000"
        assert time.monotonic() - began < 15


class TestRedisCVE202549844:
    """A client that reaches Redis can run programs in it."""

    def test_ours_is_on_a_private_socket_only(
        self, redis_server: RedisServer, broker: redis.Redis
    ) -> None:
        assert broker.config_get("port") == {"port": "0"}
        assert redis_server.socket.parent.stat().st_mode & 0o077 == 0


class TestNoHTTP:
    """Text that is no HTTP request is refused, and the connection is closed."""

    @pytest.mark.parametrize(
        "request_text",
        [
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "nonsense\r\n\r\n",
            "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        ],
    )
    def test_is_refused_and_hung_up_on(self, service: InProcess, request_text: str) -> None:
        address = (service.user.base_url.host, service.user.base_url.port or 0)
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(request_text.encode("latin-1"))
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        head, _, body = answer.decode().partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 400 ")
        assert "connection: close" in head.lower()
        assert body == "Invalid HTTP request received."
        assert service.user.get("/healthz").status_code == 200


def test_tls_is_spoken_where_a_certificate_is_given(
    redis_server: RedisServer, home: Path, certificate: tuple[Path, Path]
) -> None:
    files: dict[str, Any] = {"tls_certificate": certificate[0], "tls_key": certificate[1]}
    with InProcess(settings_for(home, redis_server.url, **files)) as service:
        assert service.url.startswith("https://")
        assert service.submit()["state"] == "queued"

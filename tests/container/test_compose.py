"""Guarantees of the compose file and the Dockerfiles: closed ports, secrets in files, no root."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))


def final_stage(dockerfile: Path) -> str:
    return re.split(r"^FROM ", dockerfile.read_text("utf-8"), flags=re.MULTILINE)[-1]


class TestCompose:
    def test_only_the_service_is_published_and_only_on_loopback(
        self, compose: dict[str, Any]
    ) -> None:
        published = {
            name: service["ports"]
            for name, service in compose["services"].items()
            if "ports" in service
        }
        assert published == {"service": ["127.0.0.1:8470:8470"]}

    def test_redis_and_the_workers_cannot_reach_out(self, compose: dict[str, Any]) -> None:
        closed = {name for name, network in compose["networks"].items() if network.get("internal")}
        for name in ("redis", "worker-cpu"):
            assert set(compose["services"][name]["networks"]) <= closed

    def test_every_container_is_hardened(self, compose: dict[str, Any]) -> None:
        for name, service in compose["services"].items():
            assert service["read_only"] is True, name
            assert service["cap_drop"] == ["ALL"], name
            assert service["security_opt"] == ["no-new-privileges:true"], name

    def test_secrets_come_by_file_and_each_only_where_it_is_needed(
        self, compose: dict[str, Any]
    ) -> None:
        assert all(set(secret) == {"file"} for secret in compose["secrets"].values())
        given = {name: set(service["secrets"]) for name, service in compose["services"].items()}
        assert given == {
            "redis": {"redis-password"},
            "service": {"token", "agent-key", "redis-password"},
            "worker-cpu": {"agent-key", "redis-password"},
        }
        for service in compose["services"].values():
            for variable, value in service.get("environment", {}).items():
                if re.search("TOKEN|PASSWORD", variable):
                    assert value.startswith("/run/secrets/")

    def test_nothing_starts_before_what_it_needs_is_healthy(self, compose: dict[str, Any]) -> None:
        checked = {"redis"}
        checked |= {
            path.stem for path in DOCKERFILES if "\nHEALTHCHECK " in path.read_text("utf-8")
        }
        for service in compose["services"].values():
            for needed, how in service.get("depends_on", {}).items():
                assert how == {"condition": "service_healthy"}
                assert needed in checked


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.stem)
class TestDockerfiles:
    def test_runs_as_a_user_of_its_own_and_is_health_checked(self, dockerfile: Path) -> None:
        stage = final_stage(dockerfile)
        assert "\nUSER ipulse\n" in stage
        assert "\nHEALTHCHECK " in stage

    def test_leaves_installers_behind(self, dockerfile: Path) -> None:
        assert not re.search(r"apt-get|pip install", final_stage(dockerfile))

    def test_only_the_worker_has_what_jobs_need(self, dockerfile: Path) -> None:
        """The last stage begins with the stage `python`."""
        assert final_stage(dockerfile).startswith("python\n")
        stages = re.split(r"^FROM ", dockerfile.read_text("utf-8"), flags=re.MULTILINE)
        installed = next(stage for stage in stages if stage.startswith("${BASE} AS python"))
        for package in ("g++", "bubblewrap"):
            assert (package in installed) is (dockerfile.stem == "worker-cpu")

    def test_starts_from_a_base_that_can_be_replaced(self, dockerfile: Path) -> None:
        assert re.search(
            r"^ARG BASE=debian:12-slim\n\nFROM \$\{BASE\} AS", dockerfile.read_text("utf-8"), re.M
        )

    def test_finds_every_file_that_it_copies(self, dockerfile: Path) -> None:
        """The build context holds only what .dockerignore lets in."""
        allowed = re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
        copies = re.findall(
            r"^COPY (?!--from)(.*) \S+$", dockerfile.read_text("utf-8"), re.MULTILINE
        )
        sources = [source for copy in copies for source in copy.split()]
        assert sources
        for source in sources:
            assert (ROOT / source).exists(), source
            assert any(source == entry or source.startswith(entry + "/") for entry in allowed)


class TestSecrets:
    def test_are_made_once_and_kept_from_other_users(self, tmp_path: Path) -> None:
        script = tmp_path / "make-secrets"
        script.write_bytes((ROOT / "docker" / "make-secrets").read_bytes())
        script.chmod(0o755)
        subprocess.run([script], check=True, capture_output=True)
        secrets = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
        assert set(secrets) == {"token", "agent-key", "redis-password"}
        assert len(set(secrets.values())) == 3
        for secret in secrets.values():
            assert re.fullmatch("[0-9a-f]{64}", secret)
        assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700

        again = subprocess.run([script], check=True, capture_output=True)
        assert again.stdout == b""
        assert secrets == {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    def test_reach_the_broker_url_inside_the_container_only(self, tmp_path: Path) -> None:
        (tmp_path / "password").write_text("0123abcd\n")
        shown = subprocess.run(
            [ROOT / "docker" / "entrypoint", "env"],
            env={
                "PATH": "/usr/bin:/bin",
                "IPULSE_BROKER_HOST": "redis",
                "IPULSE_BROKER_PASSWORD_FILE": str(tmp_path / "password"),
            },
            check=True,
            capture_output=True,
            text=True,
        )
        assert "IPULSE_BROKER_URL=redis://:0123abcd@redis:6379/0" in shown.stdout.splitlines()


def test_a_worker_gets_the_libraries_of_its_image_whole(tmp_path: Path) -> None:
    """A container that was ended while it copied begins again; what jobs use stays as it is."""
    kernels, cache = tmp_path / "kernels", tmp_path / "cache"
    for name in ("kernels-1", "sparse-2"):
        (kernels / name).mkdir(parents=True)
        (kernels / name / "lib.so").write_text("of the image")
    (cache / "kernels-1").mkdir(parents=True)
    (cache / "kernels-1" / "lib.so").write_text("in use")
    (cache / "sparse-2.new").mkdir()
    (cache / "sparse-2.new" / "lib.so").write_text("of the im")
    (cache / "sparse-2.new" / "partial").touch()
    subprocess.run(
        [ROOT / "docker" / "entrypoint", "python", "-c", "pass"],
        env={
            "PATH": f"{ROOT / '.venv' / 'bin'}:/usr/bin:/bin",
            "IPULSE_CACHE": str(cache),
            "IPULSE_KERNELS": str(kernels),
        },
        check=True,
    )
    found = {path.relative_to(cache).as_posix(): path.read_text() for path in cache.glob("*/*")}
    assert found == {"kernels-1/lib.so": "in use", "sparse-2/lib.so": "of the image"}

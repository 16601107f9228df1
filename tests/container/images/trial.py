"""The images as containers, as docker-compose.yml says, on a network without a way out.

The compose file is read for it: a read-only root, the image's own user, no capabilities, secrets as
files, each health check asked until it passes. What differs: all three share one loopback, and the
machine's redis-server runs the command that the compose file gives to redis:7.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tests.container.images.buildah import ROOT, Buildah, say
from tests.container.images.caller import Caller
from tests.container.images.container import DEADLINE_SECONDS, Container

# Folders of the cache with what jobs bring (equations, losses, ops, graphs for emulated tiles), and
# with the reservations of emulated IPUs.
OF_JOBS = ("equations-", "poplar-loss-", "op-", "executables", "devices")


class Trial:
    """Redis, the service and the worker on a loopback of their own."""

    def __init__(self, scratch: Path, buildah: Buildah, stack: contextlib.ExitStack) -> None:
        self.scratch = scratch
        self.buildah = buildah
        self.stack = stack
        self.compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
        self.hosts = scratch / "hosts"
        self.hosts.write_text("127.0.0.1 localhost redis service\n")
        self.inside: list[str] = []

    def begin(self) -> Caller:
        """Start everything; return what calls the service."""
        say("one network without a way out; secrets in files")
        holder = ["unshare", "--net", "sh", "-c", "ip link set lo up && exec sleep infinity"]
        network = self.start(holder, self.scratch / "network.out")
        self.inside = ["nsenter", f"--net=/proc/{network.pid}/ns/net"]
        shutil.copy(ROOT / "docker" / "make-secrets", self.scratch)
        subprocess.run([self.scratch / "make-secrets"], check=True)
        self._wait("the network", lambda: "LOOPBACK,UP" in self._output("ip", "link"))

        say("start redis, the service and the worker")
        self._start_redis()
        self.service, self.worker = Container(self, "service"), Container(self, "worker-cpu")
        for container in (self.service, self.worker):
            self._inspect(container)
            container.start()
            container.wait_until_healthy()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scratch),
            "IPULSE_URL": "http://127.0.0.1:8470",
            "IPULSE_TOKEN_FILE": str(self.scratch / "secrets" / "token"),
        }
        return Caller(self.inside, environment, self.scratch / "inside")

    def end(self) -> None:
        """Stop the containers; each must end by itself."""
        say("stop")
        self.worker.stop()
        self.service.stop()

    def compiled(self) -> list[str]:
        """Return the files that jobs compiled though they did not bring their sources.

        Copies of what the image has, as the emulator makes of codelets, are not among them.
        """
        brought = contents(self.worker.root / "opt/kernels").values()
        cache = self.worker.state / "cache"
        folders = [path for path in cache.iterdir() if path.is_dir()]
        kept = [folder for folder in folders if not folder.name.startswith(OF_JOBS)]
        return sorted(
            f"{folder.name}/{name}"
            for folder in kept
            for name, digest in contents(folder).items()
            if digest not in brought
        )

    def start(self, command: list[str], output: Path) -> subprocess.Popen[bytes]:
        """Starts a program that ends with the trial at the latest."""
        with output.open("wb") as stream:
            process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def wait_until_healthy(
        self, name: str, process: subprocess.Popen[bytes], check: list[str], output: Path
    ) -> None:
        """Run a health check until it passes or the process ends."""

        def healthy() -> bool:
            if process.poll() is not None:
                sys.exit(f"{name} ended with {process.returncode}:\n{output.read_text()}")
            return subprocess.run(check, capture_output=True).returncode == 0

        self._wait(f"{name}\n{output}", healthy)
        print(f"{name}: healthy")

    def _start_redis(self) -> None:
        """Starts Redis by the compose file's command, with this machine's places for its mounts."""
        data = self.scratch / "redis"
        data.mkdir()
        places = {
            "/run/secrets": str(self.scratch / "secrets"),
            "/data": str(data),
            "/tmp": str(data),  # noqa: S108  # the place inside the container
            "$$": "$",
        }

        def placed(text: str) -> str:
            inside = "|".join(map(re.escape, places))
            return re.sub(inside, lambda match: places[match[0]], text)

        redis = self.compose["services"]["redis"]
        output = self.scratch / "redis.out"
        process = self.start([*self.inside, *map(placed, redis["command"])], output)
        check = [*self.inside, "sh", "-c", placed(redis["healthcheck"]["test"][1])]
        self.wait_until_healthy("redis", process, check, output)

    def _inspect(self, container: Container) -> None:
        """Checks user, read-only root, capabilities, and which tools there are, from inside."""
        probe = (
            "id -un; touch /app/x 2>&1 || true; grep CapBnd /proc/self/status; "
            "for tool in g++ bwrap pip; do "
            "command -v $tool >/dev/null && echo has $tool || echo no $tool; done; "
            "cd /tmp && python -I -c 'import ipulse_core' && echo finds packages"
        )
        has = "has" if container.name == "worker-cpu" else "no"
        tools = (f"{has} g++", f"{has} bwrap", "no pip", "finds packages")
        seen = self._output(*container.command("sh", "-c", probe)[len(self.inside) :])
        print(f"{container.name}: {'; '.join(seen.split(chr(10)))}")
        for expected in ("ipulse", "Read-only file system", "0000000000000000", *tools):
            if expected not in seen:
                sys.exit(f"{container.name} is not hardened: no {expected!r} in the line above")

    def _output(self, *command: str) -> str:
        done = subprocess.run(
            [*self.inside, *command], check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def _wait(self, what: str, condition: Any) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                sys.exit(f"not ready after {DEADLINE_SECONDS} s: {what}")
            time.sleep(0.2)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the SHA-256 of each file of a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest() for path in files
    }

"""Builds both images without a Docker engine and puts jobs through what was built.

    sudo make containers

For a machine with buildah, debootstrap and redis-server, but with no engine and no image registry:
the base is made by debootstrap from its own mirror (MIRROR=http://... names another). The
images then run as docker-compose.yml says, which is read for it: a network without a way out, a
read-only root, the image's own user, no capabilities, secrets as files, each health check asked
until it passes. What differs: all three share one loopback, and the machine's redis-server runs
the command that the compose file gives to redis:7. Takes minutes, and 6 GB of disk until the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from buildah import ROOT, Buildah, say
from container import DEADLINE_SECONDS, Container

CLIENT = Path(sys.executable).parent / "ipulse"
IMAGES = ("service", "worker-cpu")
# Kernels that the image brings, and what a job compiles in the container: equations, tiles.
SPECS = ("digits.yaml", "neurons/resonating_digits.yaml", "emulator.yaml")
NEEDED = ("buildah", "debootstrap", "ip", "nsenter", "redis-server", "redis-cli", "unshare")


def main() -> None:
    """Build both images, start them with Redis, and put one job through."""
    if os.geteuid() != 0:
        sys.exit("must run as root, because it makes root file systems")
    for tool in NEEDED:
        if shutil.which(tool) is None:
            sys.exit(
                f"{tool} is missing: apt-get install buildah debootstrap iproute2 redis-server"
            )
    scratch = Path(tempfile.mkdtemp(prefix="ipulse-containers."))
    scratch.chmod(0o711)  # the containers' user reaches its own directories and lists nothing
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch)
        buildah = Buildah(scratch)
        buildah.make_base()
        for name in IMAGES:
            buildah.build(name)
        stack.callback(buildah.unmount)
        Trial(scratch, buildah, stack).run([ROOT / "examples" / name for name in SPECS])


class Trial:
    """Redis, the service and the worker on a loopback of their own, and a job through them."""

    def __init__(self, scratch: Path, buildah: Buildah, stack: contextlib.ExitStack) -> None:
        self.scratch = scratch
        self.buildah = buildah
        self.stack = stack
        self.compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
        self.hosts = scratch / "hosts"
        self.hosts.write_text("127.0.0.1 localhost redis service\n")
        self.inside: list[str] = []

    def run(self, specs: Sequence[Path]) -> None:
        """Start everything, submit specs and download their results."""
        say("one network without a way out; secrets in files")
        holder = ["unshare", "--net", "sh", "-c", "ip link set lo up && exec sleep infinity"]
        network = self.start(holder, self.scratch / "network.out")
        self.inside = ["nsenter", f"--net=/proc/{network.pid}/ns/net"]
        shutil.copy(ROOT / "docker" / "make-secrets", self.scratch)
        subprocess.run([self.scratch / "make-secrets"], check=True)
        self._wait("the network", lambda: "LOOPBACK,UP" in self._output("ip", "link"))

        say("start redis, the service and the worker")
        self._start_redis()
        service, worker = Container(self, "service"), Container(self, "worker-cpu")
        for container in (service, worker):
            self._inspect(container)
            container.start()
            container.wait_until_healthy()

        for spec in specs:
            self._put_through(spec, worker)

        say("stop")
        worker.stop()
        service.stop()
        print("the jobs succeeded")

    def _put_through(self, spec: Path, worker: Container) -> None:
        """Submits a spec, waits for the end of its job and downloads the results."""
        say(f"submit, watch and download {spec.name}")
        job = json.loads(self._client("submit", str(spec), "--json"))
        self._client("watch", job["id"], capture=False)
        finished = json.loads(self._client("status", job["id"], "--json"))
        results = self.scratch / "results" / spec.stem
        self._client("download", job["id"], "--to", str(results), capture=False)
        print(json.dumps({key: finished[key] for key in ("state", "reason", "summary")}))
        if finished["state"] != "succeeded" or not list(results.rglob("manifest.json")):
            sys.exit(f"the job did not succeed:\n{worker.output.read_text()}")

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
            "command -v $tool >/dev/null && echo has $tool || echo no $tool; done"
        )
        has = "has" if container.name == "worker-cpu" else "no"
        tools = (f"{has} g++", f"{has} bwrap", "no pip")
        seen = self._output(*container.command("sh", "-c", probe)[len(self.inside) :])
        print(f"{container.name}: {'; '.join(seen.split(chr(10)))}")
        for expected in ("ipulse", "Read-only file system", "0000000000000000", *tools):
            if expected not in seen:
                sys.exit(f"{container.name} is not hardened: no {expected!r} in the line above")

    def _client(self, *arguments: str, capture: bool = True) -> str:
        done = subprocess.run(
            [*self.inside, str(CLIENT), *arguments],
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.scratch),
                "IPULSE_URL": "http://127.0.0.1:8470",
                "IPULSE_TOKEN_FILE": str(self.scratch / "secrets" / "token"),
            },
            stdout=subprocess.PIPE if capture else None,
            text=True,
        )
        return done.stdout or ""

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


if __name__ == "__main__":
    main()

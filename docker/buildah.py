"""Builds the images with buildah, without a Docker engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MIRROR = [os.environ["MIRROR"]] if "MIRROR" in os.environ else []  # else debootstrap's own


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n=== {text}", flush=True)


class Buildah:
    """buildah with a store of its own, which goes with the scratch directory."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        store = ["--root", str(scratch / "storage"), "--runroot", str(scratch / "run")]
        self.command = ["buildah", "--storage-driver", "vfs", *store]

    def __call__(self, *arguments: str) -> str:
        """Run buildah and return its output."""
        done = subprocess.run(
            [*self.command, *arguments], check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def make_base(self) -> None:
        """Make the base image with debootstrap."""
        say("base: Debian 12, by debootstrap")
        base = self.scratch / "base"
        _logged(
            self.scratch / "base.log",
            ["debootstrap", "--variant=minbase", "bookworm", str(base), *MIRROR],
        )
        # Certificates that this machine trusts in addition to Debian's, such as a proxy's.
        shutil.copytree(
            "/usr/local/share/ca-certificates",
            base / "usr/local/share/ca-certificates",
            dirs_exist_ok=True,
        )
        container = self("from", "scratch")
        self("copy", "-q", container, str(base), "/")
        self("commit", "-q", "--rm", container, "ipulse-base")
        shutil.rmtree(base)

    def build(self, name: str) -> None:
        """Build the image of a Dockerfile."""
        say(f"build docker/{name}.Dockerfile")
        begin = time.monotonic()
        arguments = ["bud", "--isolation", "chroot", "--format", "docker"]
        arguments += ["--build-arg", "BASE=localhost/ipulse-base"]
        arguments += ["-f", f"docker/{name}.Dockerfile", "-t", f"ipulse-{name}", "."]
        _logged(self.scratch / f"{name}.log", [*self.command, *arguments])
        print(f"built in {time.monotonic() - begin:.0f} s")
        print(self("images", f"ipulse-{name}"))

    def config(self, name: str) -> dict[str, Any]:
        """The image's configuration, as an engine would read it."""
        described = json.loads(self("inspect", "--type", "image", f"ipulse-{name}"))
        found: dict[str, Any] = described["Docker"]["config"]
        return found

    def mount(self, name: str) -> Path:
        """Mount the root file system of an image."""
        return Path(self("mount", self("from", f"ipulse-{name}")))

    def unmount(self) -> None:
        """Unmount all images."""
        self("umount", "--all")


def _logged(log: Path, command: list[str]) -> None:
    """Runs a long command quietly; shows the end of its log when it fails."""
    with log.open("wb") as stream:
        done = subprocess.run(command, cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit("\n".join([*log.read_text().splitlines()[-40:], f"{command[0]} failed"]))

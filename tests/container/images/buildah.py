"""Builds the images with buildah, without a Docker engine.

Images and the layers of their builds are kept between runs, so that a build repeats only what has
changed: in `~/.cache/ipulse-images` (IPULSE_IMAGES names another place), which may be removed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
MIRROR = [os.environ["MIRROR"]] if "MIRROR" in os.environ else []  # else debootstrap's own


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n=== {text}", flush=True)


class Buildah:
    """buildah with a store of its own, for one process at a time."""

    def __init__(self, stack: ExitStack) -> None:
        default = Path.home() / ".cache" / "ipulse-images"
        self.folder = Path(os.environ.get("IPULSE_IMAGES", default))
        self.folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        lock = stack.enter_context((self.folder / "lock").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = ["--root", str(self.folder / "storage"), "--runroot", str(self.folder / "run")]
        self.command = ["buildah", "--storage-driver", "overlay", *store]
        self("rm", "--all")  # of a run that was ended
        stack.callback(self, "rm", "--all")

    def __call__(self, *arguments: str) -> str:
        """Run buildah and return its output."""
        done = subprocess.run(
            [*self.command, *arguments], check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def make_base(self) -> None:
        """Make the base image with debootstrap, unless there is one."""
        if self("images", "--quiet", "--filter", "reference=ipulse-base"):
            return
        say("base: Debian 12, by debootstrap")
        base = self.folder / "base"
        shutil.rmtree(base, ignore_errors=True)  # of a run that was ended
        self._logged("base", "debootstrap", "--variant=minbase", "bookworm", str(base), *MIRROR)
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
        """Build the image of a Dockerfile of docker/."""
        # The stage with the packages has a name, too: without one its layers would be removed.
        for stage in ("packages", ""):
            self.build_stage(name, f"docker/{name}.Dockerfile", stage)
        print(self("images", f"ipulse-{name}"))

    def build_stage(self, name: str, dockerfile: str, stage: str = "") -> None:
        """Build a stage of a Dockerfile, or its last one, as `ipulse-NAME[-STAGE]`."""
        tag = "-".join(["ipulse", name, *([stage] if stage else [])])
        say(f"build {dockerfile} {stage}".strip())
        begin = time.monotonic()
        arguments = ["bud", "--layers", "--isolation", "chroot", "--format", "docker"]
        arguments += ["--build-arg", "BASE=localhost/ipulse-base"]
        arguments += ["--target", stage] if stage else []
        arguments += ["-f", dockerfile, "-t", tag, "."]
        self._logged(tag, *self.command, *arguments)
        print(f"built in {time.monotonic() - begin:.0f} s")

    def remove_old(self) -> None:
        """Remove images, with their layers, that a newer build has replaced."""
        self("rmi", "--prune")

    def config(self, name: str) -> dict[str, Any]:
        """The image's configuration, as an engine would read it."""
        described = json.loads(self("inspect", "--type", "image", f"ipulse-{name}"))
        found: dict[str, Any] = described["Docker"]["config"]
        return found

    def mount(self, name: str) -> Path:
        """Mount the root file system of an image."""
        return Path(self("mount", self("from", f"ipulse-{name}")))

    def _logged(self, name: str, *command: str) -> None:
        """Run a long command quietly; show the end of its log when it fails."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as stream:
            done = subprocess.run(command, cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit("\n".join([*log.read_text().splitlines()[-40:], f"{command[0]} failed"]))

"""A container that runs in an unpacked image as the compose file says, without an engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.container.images.trial import Trial

DEADLINE_SECONDS = 60  # until a container has to be healthy, or gone after SIGTERM

# Enters a root file system the way a hardened container is entered. It is not a chroot, inside of
# which the kernel makes no user namespaces, and so no sandbox.
ENTER = """
root=$1 state=$2 secrets=$3 hosts=$4 user=$5 tmp=$6; shift 6
mount --rbind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o "nosuid,nodev,$tmp" tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount --bind "$state" "$root/var/lib/ipulse"
mount --bind "$secrets" "$root/run/secrets"
mount --bind "$hosts" "$root/etc/hosts"
mount -o remount,bind,ro "$root"
cd "$root"
pivot_root . .
umount -l .
exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all env -i --chdir=/app "$@"
"""


class Container:
    """One image, mounted, and run with what the compose file gives to its service."""

    def __init__(self, trial: Trial, name: str) -> None:
        self.trial = trial
        self.name = name
        self.config = trial.buildah.config(name)
        self.root = trial.buildah.mount(name)
        self.state = trial.scratch / f"{name}-state"
        self.secrets = trial.scratch / f"{name}-secrets"
        self.output = trial.scratch / f"{name}.out"
        (self.root / "run/secrets").mkdir(parents=True, exist_ok=True)
        self.state.mkdir()
        self.secrets.mkdir()
        self.service = trial.compose["services"][name]
        for secret in self.service["secrets"]:
            shutil.copy(trial.scratch / "secrets" / secret, self.secrets)
        uid, gid = self.ids()
        os.chown(self.state, uid, gid)

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs a program in the container."""
        variables = [*self.config["Env"]]
        variables += [f"{name}={value}" for name, value in self.service["environment"].items()]
        uid, _ = self.ids()
        has_exec = any(place.endswith(":exec") for place in self.service["tmpfs"])
        tmp = "exec" if has_exec else "noexec"  # as an engine mounts it
        places = [self.root, self.state, self.secrets, self.trial.hosts, uid, tmp]
        return [
            *self.trial.inside,
            *("unshare", "--mount", "--propagation", "private", "bash", "-euc", ENTER, "enter"),
            *map(str, places),
            *variables,
            *arguments,
        ]

    def output_of(self, *arguments: str, given: str = "") -> str:
        """Run a program in the container, with a text on its standard input; return its output."""
        done = subprocess.run(
            self.command(*arguments), input=given, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def start(self) -> None:
        """Start the container with its entry point."""
        self.process = self.trial.start(
            self.command(*self.config["Entrypoint"], *self.config["Cmd"]), self.output
        )

    def wait_until_healthy(self) -> None:
        """Run the image's own health check until it passes or the process ends."""
        form, *check = self.config["Healthcheck"]["Test"]
        if form == "CMD-SHELL":
            check = ["sh", "-c", *check]
        self.trial.wait_until_healthy(self.name, self.process, self.command(*check), self.output)

    def stop(self) -> None:
        """Stop the container and check its exit status."""
        self.process.terminate()
        code = self.process.wait(DEADLINE_SECONDS)
        print(f"{self.name}: ended with exit code {code} after SIGTERM")
        if code != 0:
            sys.exit(self.output.read_text())

    def ids(self) -> tuple[int, int]:
        """Return the numbers of the image's user and its group."""
        for line in (self.root / "etc/passwd").read_text().splitlines():
            name, _, uid, gid, *_ = line.split(":")
            if name == self.config["User"]:
                return int(uid), int(gid)
        sys.exit(f"{self.name} has no user {self.config['User']!r}")

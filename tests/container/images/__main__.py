"""Builds both images without a Docker engine and puts the examples through what was built.

    sudo make containers ARGS="digits.yaml poplar/streams.cpp"     # without names: all

For a machine with buildah, debootstrap and redis-server, but with no engine and no image registry:
the base is made by debootstrap from its own mirror (MIRROR=http://... names another). Each example
runs in the containers and in a stack of the checkout, and has to leave the same bits there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.container.images.buildah import ROOT, Buildah, say
from tests.container.images.caller import Caller
from tests.container.images.examples import EXAMPLES, is_excluded, jobs, scripts
from tests.container.images.trial import Trial
from tests.container.left_by_jobs import arrays

IMAGES = ("service", "worker-cpu")
PROGRAMS = ("buildah", "debootstrap", "ip", "nsenter", "redis-server", "redis-cli", "unshare")
START_SECONDS = 120.0  # of a stack, on a busy machine


def main(names: list[str]) -> int:
    """Build the images, run examples, and return 1 if one differs or fails, else 0.

    names: of examples, or none for all.
    """
    if os.geteuid() != 0:
        sys.exit("must run as root, because it makes root file systems")
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        packages = "buildah debootstrap iproute2 redis-server"
        sys.exit(f"{', '.join(missing)}: missing: apt-get install {packages}")
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        # The containers' user reaches its own directories and lists nothing.
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="ipulse-containers."))
        )
        scratch.chmod(0o711)
        buildah = Buildah(stack)
        buildah.make_base()
        for name in IMAGES:
            buildah.build(name)
        buildah.remove_old()
        trial = Trial(scratch, buildah, stack)
        inside = trial.begin()
        say("start a stack of the checkout")
        outside = checkout(scratch / "checkout", stack)
        differ = compare(names, trial, inside, outside, scratch)
        differ += [f"{name}: compiled by a job, but not brought" for name in trial.compiled()]
        trial.end()
    say(f"{time.monotonic() - begin:.0f} s")
    print("\n".join(differ) or "the checkout's bits everywhere, and no library was compiled")
    return 1 if differ else 0


def checkout(home: Path, stack: contextlib.ExitStack) -> Caller:
    """Start a stack of the checkout, which ends with `stack`; return what calls it."""
    home.mkdir(mode=0o700)
    # The same niceness as the containers have, so that neither waits for the other.
    environment = {**os.environ, "IPULSE_HOME": str(home), "IPULSE_NICE": "0"}
    log = stack.enter_context((home.parent / "checkout.out").open("wb"))
    process = subprocess.Popen(
        [sys.executable, "-m", "ipulse", "up", "--port", "0"],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    stack.callback(process.wait)
    stack.callback(process.send_signal, signal.SIGTERM)
    deadline = time.monotonic() + START_SECONDS
    while b"is ready" not in Path(log.name).read_bytes():
        if time.monotonic() > deadline or process.poll() is not None:
            sys.exit(f"the checkout does not start:\n{Path(log.name).read_text()}")
        time.sleep(0.2)
    return Caller([], environment, home.parent / "outside")


def compare(
    names: list[str], trial: Trial, inside: Caller, outside: Caller, scratch: Path
) -> list[str]:
    """Run examples in both places and return a line about each that differs."""
    differ = []
    made: dict[str, Path] = {}
    wanted = list(jobs(scratch))
    for name in scripts():
        if not is_excluded(name) and (not names or name in names or _writes_data(name, names)):
            here, there = run_script(name, trial, scratch, made)
            differ += report(name, here, there)
    chosen = [job for job in wanted if not names or job.name in names]
    # Both work at once: each runs one job after the other.
    ids = [(job, inside.submit(job, made), outside.submit(job, made)) for job in chosen]
    for job, there, here in ids:
        differ += report(job.name, outside.result(here), inside.result(there))
    return differ


def run_script(name: str, trial: Trial, scratch: Path, made: dict[str, Path]) -> tuple[Any, Any]:
    """Run a Python program here and in the worker's image; return what each printed or wrote."""
    source = EXAMPLES / name
    place = trial.worker.state / "scripts"
    place.mkdir(exist_ok=True)
    shutil.chown(place, *trial.worker.ids())
    written = f"{source.stem}.npz"
    folder = scratch / "scripts"
    folder.mkdir(exist_ok=True)
    code = source.read_text("utf-8")
    there: Any = trial.worker.output_of("python", "-", "/var/lib/ipulse/scripts", given=code)
    command = [sys.executable, "-", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, input=code, check=True, stdout=subprocess.PIPE, text=True
    )
    here: Any = done.stdout.strip()
    if (folder / written).exists():
        made[source.stem] = folder / written
        here = arrays((folder / written).read_bytes())
        there = arrays((place / written).read_bytes())
    return here, there


def report(name: str, here: Any, there: Any) -> list[str]:
    """Print whether an example left the same in both places; return a line if not."""
    if here == there and not (isinstance(here, dict) and here.get("state") == "failed"):
        print(f"{name}: the same", flush=True)
        return []
    parts = ["all"]
    if isinstance(here, dict) and isinstance(there, dict):
        parts = [each for each in {**here, **there} if here.get(each) != there.get(each)]
        shown = {each: (here.get(each), there.get(each)) for each in parts or here}
    else:
        shown = {"all": (here, there)}
    line = f"{name}: differs or failed: {', '.join(parts)}: {str(shown)[:2000]}"
    print(line, flush=True)
    return [line]


def _writes_data(name: str, names: list[str]) -> bool:
    return any(Path(each).stem == Path(name).stem for each in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""doctor: what this machine and the service have, what is missing, and what cures it."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from ipulse import __version__
from ipulse.stack.redis_server import find_redis_server
from ipulse_core.errors import IPUlseError

from .exits import Exit
from .options import Address, AsJSON, addressed
from .terminal import emit, show

LEAST_BYTES = 2**30  # free for jobs and results


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `detail` says what was found, or what cures its absence."""

    name: str
    fine: bool
    detail: str


@addressed
def doctor(at: Address, as_json: AsJSON = False) -> Exit:
    """Look for what keeps a stack or the service from working. 0 if all is well."""
    findings = list(_examine(at))
    fine = all(finding.fine for finding in findings)
    if as_json:
        emit({"fine": fine, "findings": [vars(finding) for finding in findings]})
    else:
        for finding in findings:
            style = "green" if finding.fine else "red"
            show(f"{'ok' if finding.fine else 'NO':>2}  {finding.name}: {finding.detail}", style)
    return Exit.OK if fine else Exit.OTHER


def _examine(at: Address) -> Iterator[Finding]:
    yield Finding("ipulse", True, f"{__version__} on Python {platform.python_version()}")
    yield _compiler()
    yield _tried("redis-server", lambda: str(find_redis_server()))
    home = Path(at.home or os.environ.get("IPULSE_HOME") or "~/.local/state/ipulse").expanduser()
    yield _home(home)
    yield _disk(home)
    yield _tried("service", lambda: _asked(at))


def _compiler() -> Finding:
    for name in ("g++", "clang++", "c++"):
        found = shutil.which(name)
        if found:
            return Finding("C++ compiler", True, found)
    return Finding("C++ compiler", False, "none: the kernels need one; sudo apt-get install g++")


def _home(home: Path) -> Finding:
    if not home.exists():
        return Finding("home", True, f"{home} is not there yet; `ipulse up` makes it")
    mode = home.stat().st_mode & 0o777
    if mode & 0o077:
        cure = f"others may look into {home} (mode {mode:03o}): chmod 700 {home}"
        return Finding("home", False, cure)
    return Finding("home", True, f"{home}, mode {mode:03o}")


def _disk(home: Path) -> Finding:
    place = home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    said = f"{free / 2**30:.1f} GiB free at {place}"
    return Finding("disk", free >= LEAST_BYTES, said if free >= LEAST_BYTES else f"only {said}")


def _asked(at: Address) -> str:
    with at.connect() as client:
        client.ready()
        next(client.list(page_size=1), None)  # which takes a token, as being ready does not
        return f"{client.url} is ready and knows this token"


def _tried(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, look())
    except IPUlseError as error:
        return Finding(name, False, error.message)

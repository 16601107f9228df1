"""Reports which jobs and processes use the IPUs that a job waits for.

TensorFlow waits by itself and does not report for whom. The records of this host's agents list
their jobs. The SDK's `gcipuinfo` lists the processes of all users on the IPUs that the driver shows
to this host.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from ipulse_worker.runner.devices.pool.usage_records import UsageRecord, UsageRecords

NOT_AVAILABLE = "N/A"  # gcipuinfo's value of an attribute that an IPU does not have


class User(NamedTuple):
    """A process that uses an IPU, with gcipuinfo's attributes."""

    ipu: str
    pid: str
    name: str
    executable: str


class DriverView(NamedTuple):
    """The IPUs and their users as the driver lists them."""

    ipus: int
    users: List[User]


def driver_view() -> Optional[DriverView]:
    """Return the driver's list; None without the SDK's gcipuinfo or without IPUs."""
    try:
        import gcipuinfo  # type: ignore[import-not-found] # of the Poplar SDK
    except ImportError:
        return None
    devices: List[Dict[str, str]] = gcipuinfo.gcipuinfo().getDevices()
    if not devices:
        return None
    users = [
        User(
            device.get("id", NOT_AVAILABLE),
            device["user process id"],
            device.get("user name", NOT_AVAILABLE),
            device.get("user executable", NOT_AVAILABLE),
        )
        for device in devices
        if device.get("user process id", NOT_AVAILABLE) != NOT_AVAILABLE
    ]
    return DriverView(len(devices), users)


def current_users(
    records: List[UsageRecord], view: Optional[DriverView], wanted: int
) -> Optional[str]:
    """Describe the users of the IPUs; None if the driver lists `wanted` free IPUs."""
    if view is not None and view.ipus - len(view.users) >= wanted:
        return None
    now = time.time()
    users = [
        f"job {record.job_id} has used {record.ipus} for {max(0.0, now - record.since):.0f} s"
        for record in records
    ]
    known = {str(record.pid) for record in records}
    others = [user for user in view.users if user.pid not in known] if view else []
    users += [
        f"process {user.pid} ({user.executable}) of {user.name} uses IPU {user.ipu}"
        for user in others
    ]
    if users:
        return "; ".join(users)
    return "another user has these IPUs; no job of this host's agents has one"


@contextmanager
def waiting_logged(
    records: UsageRecords, wanted: int, seconds: float, log: Callable[[str], Any]
) -> Iterator[None]:
    """Log the users of the IPUs while the body runs, every `seconds` if they have changed.

    Without gcipuinfo it is unknown whether TensorFlow compiles or waits; the log says so.
    """
    finished = threading.Event()

    def poll() -> None:
        last: Optional[List[Any]] = None
        while not finished.wait(seconds):
            others, view = records.others(), driver_view()
            users = current_users(others, view, wanted)
            if users is None or [others, view] == last:
                continue
            last = [others, view]
            what = f"for {wanted} IPU(s)" if view else f"for {wanted} IPU(s), or compiling"
            log(f"waiting {what}: {users}")

    thread = threading.Thread(target=poll, name="ipu-users", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()

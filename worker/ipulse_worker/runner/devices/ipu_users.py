"""On whom a job waits that wants IPUs of the machine.

TensorFlow waits for them by itself and says only that it does. What is known beside it: the jobs
of this host's agents, by their records, and every user's process on the IPUs that the driver shows
to this host, by the SDK's `gcipuinfo`.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from ipulse_worker.runner.devices.pool.usage_records import UsageRecord, UsageRecords

NOT_AVAILABLE = "N/A"  # gcipuinfo's word for an attribute that an IPU has not


class User(NamedTuple):
    """A process that has an IPU, by gcipuinfo's attributes."""

    ipu: str
    pid: str
    name: str
    executable: str


class Seen(NamedTuple):
    """What the driver shows."""

    ipus: int
    users: List[User]


def seen() -> Optional[Seen]:
    """None without the SDK's gcipuinfo, or where it finds nothing."""
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
    return Seen(len(devices), users)


def behind(records: List[UsageRecord], shown: Optional[Seen], wanted: int) -> Optional[str]:
    """On whom a job waits that wants so many IPUs; None if the driver shows that many free."""
    if shown is not None and shown.ipus - len(shown.users) >= wanted:
        return None
    now = time.time()
    said = [
        f"job {one.job_id}, which has had {one.ipus} for {max(0.0, now - one.since):.0f} s"
        for one in records
    ]
    ours = {str(one.pid) for one in records}
    others = [user for user in shown.users if user.pid not in ours] if shown else []
    said += [
        f"process {user.pid} ({user.executable}) of {user.name} on IPU {user.ipu}"
        for user in others
    ]
    if said:
        return "behind " + "; ".join(said)
    return "behind another user of these IPUs: no job of this host's agents has one"


@contextmanager
def told(
    records: UsageRecords, wanted: int, seconds: float, log: Callable[[str], Any]
) -> Iterator[None]:
    """Says whom a wait is for, after so many seconds and when it has changed, while the body runs.

    Without gcipuinfo nobody knows whether TensorFlow compiles or waits, and that is said.
    """
    over = threading.Event()

    def look() -> None:
        last: Optional[List[Any]] = None
        while not over.wait(seconds):
            known, shown = records.others(), seen()
            words = behind(known, shown, wanted)
            if words is None or [known, shown] == last:
                continue
            last = [known, shown]
            what = f"for {wanted} IPU(s)" if shown else f"for {wanted} IPU(s), or compiling"
            log(f"waiting {what}: {words}")

    thread = threading.Thread(target=look, name="ipu-users", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

"""A faulty device is quarantined, and another agent gets the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_core.states import Reason
from ipulse_worker.agent.registration.host_check import HostCheck
from ipulse_worker.agent.registration.quarantine import Quarantine


class Watch:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def host(tmp_path: Path) -> HostCheck:
    return HostCheck(tmp_path, 1, 60)


def test_an_error_of_the_job_costs_no_device(host: HostCheck) -> None:
    quarantine = Quarantine(["cpu", "ipu"], 60, host)
    for reason in (Reason.COMPLETED, Reason.APPLICATION_ERROR, Reason.IPU_RESET):
        assert quarantine.record("ipu", reason) == ""
    assert quarantine.usable == ("cpu", "ipu")
    assert quarantine.quarantined == ()


def test_a_partition_reset_quarantines_the_device_for_a_while(host: HostCheck) -> None:
    watch = Watch()
    quarantine = Quarantine(["cpu", "ipu"], 60, host, watch)
    assert "does not use its ipu for 60 s" in quarantine.record("ipu", Reason.PARTITION_RESET)
    watch.now += 59
    assert (quarantine.usable, quarantine.seconds_left) == (("cpu",), 1.0)
    watch.now += 1
    assert quarantine.usable == ("cpu", "ipu")
    assert quarantine.seconds_left == float("inf")


def test_an_unrecoverable_device_is_not_used_again(host: HostCheck) -> None:
    watch = Watch()
    quarantine = Quarantine(["ipu"], 60, host, watch)
    assert "until it is restarted" in quarantine.record("ipu", Reason.UNRECOVERABLE)
    quarantine.record("ipu", Reason.PARTITION_RESET)
    watch.now += 1e9
    assert (quarantine.usable, quarantine.quarantined) == ((), ("ipu",))


def test_a_drained_agent_uses_no_device_until_the_drain_is_not_confirmed_any_more(
    host: HostCheck,
) -> None:
    watch = Watch()
    quarantine = Quarantine(["cpu", "ipu"], 60, host, watch)
    quarantine.drain(35)
    assert (quarantine.usable, quarantine.healthy) == ((), ("cpu", "ipu"))
    assert quarantine.quarantined == ()  # nothing is wrong with its devices
    assert quarantine.seconds_left == 35.0
    watch.now += 34
    quarantine.drain(35)
    watch.now += 34
    assert quarantine.usable == ()
    watch.now += 1
    assert quarantine.usable == ("cpu", "ipu")
    quarantine.drain(35)
    quarantine.drain(0)
    assert quarantine.usable == ("cpu", "ipu")

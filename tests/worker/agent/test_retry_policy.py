"""Files wait for a service that is away, and not for one that answers heartbeats meanwhile."""

from __future__ import annotations

import pytest

from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.retry_policy import TRIES, retry_transfer
from ipulse_worker.agent.service_responses import ServiceUnavailable


class Cut:
    """A transfer that is cut; the service may answer heartbeats."""

    def __init__(self, code: str = "", times: int = 100, renews: bool = True) -> None:
        self.lease = AttemptLease("att_1", "fence", 30.0, 0.0, lambda: 0.0)
        self.code = code
        self.left = times
        self.renews = renews
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        if self.renews:
            self.lease.renew(30.0, 0.0)
        if self.tries <= self.left:
            raise ServiceUnavailable("cut", remote_code=self.code, is_away=True)
        return "whole"

    def result(self) -> str:
        return retry_transfer(self, lambda seconds: False, self.lease)


def test_a_transfer_that_is_always_cut_ends_and_is_no_absence() -> None:
    cut = Cut()
    with pytest.raises(ServiceUnavailable) as caught:
        cut.result()
    assert cut.tries == TRIES
    assert not caught.value.is_away


def test_an_absent_service_is_outlasted() -> None:
    assert Cut(renews=False).result() == "whole"


def test_a_service_that_asks_to_come_later_is_outlasted() -> None:
    assert Cut(code="overloaded").result() == "whole"


def test_only_one_failure_counts_for_each_heartbeat() -> None:
    cut = Cut(renews=False)
    cut.lease.renew(30.0, 0.0)
    assert cut.result() == "whole"

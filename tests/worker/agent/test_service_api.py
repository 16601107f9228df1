"""Each refusal has its own exception; only temporary errors are retried."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator

import httpx
import psutil
import pytest

from ipulse.outgoing_file import OutgoingFile
from ipulse_core.attempt_outcome import AttemptOutcome
from ipulse_core.errors import NotAuthenticated, NotFound, RemoteError, StaleToken
from ipulse_core.events import LogEvent, PhaseEvent
from ipulse_core.states import Reason
from ipulse_worker.agent import retry_policy
from ipulse_worker.agent.lease import AttemptLease
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_responses import ClaimRefused, ServiceUnavailable, raise_refusal
from ipulse_worker.agent.service_types import ClaimedJob

from .fake_handler import HANG_UP
from .fake_rules import DEADLINE
from .fake_service import FakeService


@pytest.fixture
def api(service: FakeService) -> Iterator[ServiceAPI]:
    api = ServiceAPI(service.url, service.token)
    yield api
    api.close()


@pytest.fixture
def claim(service: FakeService, api: ServiceAPI) -> ClaimedJob:
    return api.claim(service.submit("completes"), "host-1", ["cpu"], "f" * 40)


class TestClaim:
    def test_returns_the_job_and_the_lease(self, service: FakeService, api: ServiceAPI) -> None:
        job_id = service.submit("completes")
        began = time.monotonic()
        claim = api.claim(job_id, "host-1", ["cpu"], "f" * 40)
        assert (claim.job_id, claim.attempt, claim.checkpoint) == (job_id, 1, None)
        assert claim.spec == service.job(job_id).spec
        left = claim.lease.seconds_left()
        assert 15.0 - (time.monotonic() - began) <= left <= 15.0
        assert service.job(job_id).last.agent == "host-1"

    def test_of_a_held_job_is_refused(self, claim: ClaimedJob, api: ServiceAPI) -> None:
        with pytest.raises(ClaimRefused):
            api.claim(claim.job_id, "host-2", ["cpu"], "g" * 40)

    def test_of_an_unknown_job_is_refused(self, api: ServiceAPI) -> None:
        with pytest.raises(NotFound):
            api.claim("job_unknown", "host-1", ["cpu"], "f" * 40)

    def test_with_a_wrong_token_is_refused_without_showing_it(self, service: FakeService) -> None:
        api = ServiceAPI(service.url, "wrong" * 10)
        with pytest.raises(NotAuthenticated) as caught:
            api.claim("job_1", "host-1", ["cpu"], "f" * 40)
        assert "wrong" not in str(caught.value)
        api.close()


class TestFence:
    def test_every_report_of_a_superseded_attempt_is_refused(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        service.expire(claim.job_id)
        api.claim(claim.job_id, "host-2", ["cpu"], "g" * 40)
        words: list[Callable[[], object]] = [
            lambda: api.heartbeat(claim.lease),
            lambda: api.send_events(claim.lease, 1, [PhaseEvent("prepare")]),
            lambda: upload(api, claim.lease, b"late"),
            lambda: api.finish(claim.lease, AttemptOutcome(Reason.DIVERGED)),
        ]
        for word in words:
            with pytest.raises(StaleToken):
                word()
        assert service.job(claim.job_id).last.events == []

    def test_a_heartbeat_renews_the_lease_and_reports_a_cancel(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        lease = claim.lease
        began = time.monotonic()
        lease.renew(0.5, sent_at=began)
        assert not api.heartbeat(lease).cancel
        left = lease.seconds_left()
        assert left >= 15.0 - (time.monotonic() - began)
        service.cancel(claim.job_id)
        assert api.heartbeat(lease).cancel


class TestTransfer:
    def test_an_upload_is_streamed_whole(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        content = bytes(range(256)) * 20_000
        upload(api, claim.lease, content)
        assert service.job(claim.job_id).last.artifact("weights").content == content

    def test_an_empty_file_is_a_file(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        upload(api, claim.lease, b"")
        assert service.job(claim.job_id).last.artifact("weights").content == b""

    def test_a_wrong_digest_is_a_refusal(self, claim: ClaimedJob, api: ServiceAPI) -> None:
        wrong = OutgoingFile(io.BytesIO(b"abc"), 3)
        wrong.sha256 = "0" * 64
        with pytest.raises(RemoteError) as caught:
            upload(api, claim.lease, wrong)
        assert (caught.value.status, caught.value.remote_code) == (422, "wrong_content")

    def test_an_upload_cut_short_begins_again_from_the_first_byte(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        service.fail("artifacts", HANG_UP, times=2)
        file = OutgoingFile(io.BytesIO(b"whole"), 5)
        retry_while_unavailable(lambda: upload(api, claim.lease, file), lambda seconds: False)
        assert service.job(claim.job_id).last.artifact("weights").content == b"whole"


class TestRetries:
    def test_temporary_errors_are_retried(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        for status in (500, 502, 503, 429, HANG_UP):
            service.fail("events", status)
        pauses: list[float] = []

        def pause(seconds: float) -> bool:
            pauses.append(seconds)
            return False

        following = retry_while_unavailable(
            lambda: api.send_events(claim.lease, 1, [LogEvent(message="x")]), pause
        )
        assert following == 2
        assert pauses == sorted(pauses)
        assert len(pauses) == 5
        assert max(pauses) <= retry_policy.LONGEST_PAUSE

    def test_a_refusal_is_never_repeated(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        before = len(service.requests)
        with pytest.raises(RemoteError, match="event 1 is expected next"):
            retry_while_unavailable(
                lambda: api.send_events(claim.lease, 7, [LogEvent(message="x")]),
                lambda seconds: False,
            )
        assert len(service.requests) == before + 1

    def test_a_file_that_an_earlier_try_still_stores_is_sent_again(self) -> None:
        """The offset that the service has just returned is no longer valid."""
        with pytest.raises(ServiceUnavailable):
            raise_refusal(httpx.Response(409, json={"code": "wrong_offset"}))

    def test_it_gives_up_after_its_limit(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        service.fail("finish", 503, times=1000)
        before = len(service.requests)
        with pytest.raises(ServiceUnavailable):
            retry_while_unavailable(
                lambda: api.finish(claim.lease, AttemptOutcome(Reason.DIVERGED)),
                lambda seconds: False,
            )
        assert len(service.requests) == before + retry_policy.TRIES

    def test_it_ends_early_if_the_pause_is_interrupted(
        self, service: FakeService, claim: ClaimedJob, api: ServiceAPI
    ) -> None:
        service.fail("finish", 503, times=1000)
        before = len(service.requests)
        with pytest.raises(ServiceUnavailable):
            retry_while_unavailable(
                lambda: api.finish(claim.lease, AttemptOutcome(Reason.DIVERGED)),
                lambda seconds: True,
            )
        assert len(service.requests) == before + 1

    def test_a_service_that_is_gone_is_unavailable(self, service: FakeService) -> None:
        service.hang_up()
        api = ServiceAPI(service.url, "x" * 40)
        with pytest.raises(ServiceUnavailable, match="cannot be reached"):
            api.claim("job_1", "host-1", ["cpu"], "f" * 40)
        api.close()
        service.listen()


def test_closing_does_not_wait_and_leaves_nothing_open(
    service: FakeService, claim: ClaimedJob, api: ServiceAPI
) -> None:
    """An agent that ends while its threads send requests leaves no error and no connection."""
    asked, may_answer = threading.Event(), threading.Event()

    def hang(method: str, path: str) -> None:
        service.changed.release()
        asked.set()
        may_answer.wait(DEADLINE)
        service.changed.acquire()

    service.faults.append(hang)
    answers: list[bool] = []
    speaking = threading.Thread(target=lambda: answers.append(api.heartbeat(claim.lease).cancel))
    speaking.start()
    assert asked.wait(DEADLINE)
    api.close()
    with pytest.raises(ServiceUnavailable, match="has closed"):
        api.heartbeat(claim.lease)
    assert answers == []
    may_answer.set()
    speaking.join(DEADLINE)
    assert answers == [False]
    port = int(service.url.rpartition(":")[2])
    open_ones = psutil.Process().net_connections()
    assert [end for end in open_ones if end.raddr and end.raddr.port == port] == []


def test_proxies_of_the_environment_are_not_used(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    api = ServiceAPI(service.url, service.token)
    assert api.claim(service.submit("completes"), "host-1", ["cpu"], "f" * 40).attempt == 1
    api.close()


def upload(api: ServiceAPI, lease: AttemptLease, content: bytes | OutgoingFile) -> None:
    if isinstance(content, bytes):
        content = OutgoingFile(io.BytesIO(content), len(content))
    api.upload(
        lease,
        content,
        name="weights.npz",
        role="weights",
        media_type="application/octet-stream",
    )

"""Two services on one PostgreSQL: nothing is done twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from ipulse.stack.redis_server import RedisServer
from ipulse_service.db import tables
from ipulse_service.db.engine import Transaction
from ipulse_service.jobs import attempts, leases, losses, outbox, store
from ipulse_service.jobs.queue import claims, fair_share, order
from ipulse_service.sweeps import store as sweep_store
from tests.service.agents import Attempt
from tests.service.conditions import eventually
from tests.service.postgresql_server import PostgreSQLServer
from tests.service.running import SPEC, InProcess, settings_for
from tests.service.sweeps.sweeping import RATE, begun, create, succeed, sweep_of, trials_of


@pytest.fixture(scope="module")
def replicas(
    redis_server: RedisServer,
    postgresql_server: PostgreSQLServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[InProcess, InProcess]]:
    home = tmp_path_factory.mktemp("replicas")
    url = postgresql_server.new_database()
    options = {"database_url": url, "poll_seconds": 0.2, "retry_seconds": 0.02}
    settings = settings_for(home, redis_server.url, **options)
    with InProcess(settings) as one, InProcess(settings) as other:
        for replica in (one, other):
            # At the first request FastAPI builds its routes. It hides a warning meanwhile, in a way
            # that the thread of the other replica can upset.
            assert replica.user.get("/v1/unknown").status_code == 404
        yield one, other


def expire(replica: InProcess, attempt: Attempt) -> None:
    """Expires its lease by changing only the attempt's row."""
    this = update(tables.attempts).where(tables.attempts.c.id == attempt.claim["attempt_id"])
    with replica.database.write() as transaction:
        transaction.connection.execute(this.values(lease_expires_at=0))


def reaped(replica: InProcess) -> set[str]:
    """The jobs that a look takes from silent agents."""
    with replica.database.write() as transaction:
        return {job.id for job in attempts.reap(transaction, replica.settings)}


def test_two_agents_that_claim_at_two_replicas_never_both_win(
    replicas: tuple[InProcess, InProcess],
) -> None:
    jobs = [replicas[0].submit()["id"] for _ in range(20)]
    with ThreadPoolExecutor(8) as agents:
        asked = [agents.submit(r.claim, job) for job in jobs for r in (*replicas, *replicas)]
        codes = [answer.result().status_code for answer in asked]
    assert codes.count(200) == len(jobs)
    assert set(codes) == {200, 409}


def test_n6_claims_at_once_exceed_no_quota(replicas: tuple[InProcess, InProcess]) -> None:
    path, owner = "/v1/projects/default/quotas", replicas[0].user
    jobs = [replicas[0].submit()["id"] for _ in range(6)]

    def allow(devices: int | None) -> int:
        answer = owner.patch(path, json={"limits": {"devices": devices}}).json()
        return sum(each["used"] for each in answer["quotas"] if each["name"] == "devices")

    busy = allow(1000)
    assert allow(busy + 1) == busy
    try:
        with ThreadPoolExecutor(8) as agents:
            asked = [agents.submit(r.claim, job) for job in jobs for r in replicas]
            codes = [answer.result().status_code for answer in asked]
    finally:
        assert allow(None) == 0
    assert (codes.count(200), set(codes)) == (1, {200, 409}), "one device was left"


def test_two_claims_that_name_each_others_job_do_not_wait(
    replicas: tuple[InProcess, InProcess],
) -> None:
    """Each gets the next job instead, and promises the one it named a wake-up."""
    one, other = replicas
    for _ in range(2):
        one.submit()
    with one.database.write() as holding, other.database.write() as claiming:
        first = order.head(holding, ["cpu"], lambda needs: True, fair_share.read(holding))
        assert first is not None
        second = claims.claim(claiming, first.id, "agent", ["cpu"], 60.0).job
        assert second.id != first.id
        outbox.add(holding, second)


def change_row(replica: InProcess, job_id: str, **values: Any) -> None:
    with replica.database.write() as transaction:
        this = update(tables.jobs).where(tables.jobs.c.id == job_id)
        transaction.connection.execute(this.values(values))


def test_a_claim_passes_over_a_locked_job_behind_one_that_does_not_fit(
    replicas: tuple[InProcess, InProcess],
) -> None:
    one, other = replicas
    unfit, locked, free = [one.submit()["id"] for _ in range(3)]
    for priority, job_id in zip((100, 99, 98), (unfit, locked, free), strict=True):
        change_row(one, job_id, priority=priority)
    change_row(one, unfit, data_set="npz/elsewhere")

    def head(transaction: Transaction) -> str:
        standing = fair_share.read(transaction)
        job = order.head(transaction, ["cpu"], lambda needs: needs.data_set is None, standing)
        assert job is not None
        return job.id

    def next_job() -> str:
        with other.database.write() as transaction:
            return head(transaction)

    with ThreadPoolExecutor(1) as beside, one.database.write() as holding:
        assert head(holding) == locked
        assert beside.submit(next_job).result(timeout=10) == free
    for job_id in (unfit, locked, free):
        one.user.post(f"/v1/jobs/{job_id}/cancel")


def test_a_claim_of_a_locked_job_is_refused_at_once(replicas: tuple[InProcess, InProcess]) -> None:
    one, other = replicas
    job_id = one.submit()["id"]
    change_row(one, job_id, device="ipu")  # no other job is queued for this kind
    with ThreadPoolExecutor(1) as beside, one.database.write() as holding:
        store.get(holding, job_id)
        answer = beside.submit(other.claim, job_id, kinds=("ipu",)).result(timeout=10)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_claimable")
    one.user.post(f"/v1/jobs/{job_id}/cancel")


def test_one_key_at_two_replicas_makes_one_job(replicas: tuple[InProcess, InProcess]) -> None:
    with ThreadPoolExecutor(8) as users:
        asked = [users.submit(submit_until_accepted, replicas[i % 2]) for i in range(16)]
        assert len({answer.result() for answer in asked}) == 1


def submit_until_accepted(replica: InProcess) -> str:
    """Submit with one key, again while another request with it is under way; return the job."""
    while True:
        headers = {"idempotency-key": "the-same"}
        response = replica.user.post("/v1/jobs", json=SPEC, headers=headers)
        if response.status_code != 409:
            assert response.status_code == 202, response.text
            return str(response.json()["id"])
        assert response.json()["code"] == "idempotency_key_in_use"


def test_a_lease_that_ran_out_is_evaluated_once(replicas: tuple[InProcess, InProcess]) -> None:
    one, other = replicas
    job_id = one.submit()["id"]
    one.attempt(job_id)
    one.expire_leases()
    eventually(lambda: one.job(job_id)["state"] == "queued")
    states = [event["state"] for event in other.events(job_id, kind="state")["events"]]
    assert states == ["queued", "preparing", "retry_wait", "queued"]


def test_what_one_reaper_holds_the_other_leaves_alone(
    replicas: tuple[InProcess, InProcess],
) -> None:
    one, other = replicas
    job_id = one.submit()["id"]
    attempt = one.attempt(job_id)
    with one.database.write() as holding:
        leases.check_fence(holding, attempt.claim["attempt_id"], attempt.fence)
        expire(other, attempt)
        assert job_id not in reaped(other)
    eventually(lambda: one.job(job_id)["state"] != "preparing")


def test_a_lease_is_left_to_the_replica_that_its_agent_talks_to(
    replicas: tuple[InProcess, InProcess],
) -> None:
    """That one may not listen at the moment, and its agent is alive; after a while it is dead."""
    one, other = replicas
    attempt = one.attempt(one.submit()["id"])
    attempt_id, job_id = attempt.claim["attempt_id"], attempt.claim["job_id"]
    expires_at = select(tables.attempts.c.lease_expires_at)
    with other.database.read() as looking:
        this = expires_at.where(tables.attempts.c.id == attempt_id)
        ended = looking.connection.execute(this).scalar_one()

        def is_found(seconds: float) -> bool:
            late = leases.expired(looking, ended + round(1000 * seconds))
            return attempt_id in {row.id for row in late}

        assert not is_found(10)
        assert is_found(14)  # with a lease of 30 s a dead agent is noticed within 45 s
    with one.database.read() as looking:
        assert is_found(0)
    through_other = Attempt(other.worker, attempt.claim)
    assert through_other.heartbeat().status_code == 200  # as a proxy in front may choose
    with one.database.read() as looking:
        assert not is_found(10)
    assert job_id not in reaped(one)


def test_a_heartbeat_under_way_is_not_reaped(replicas: tuple[InProcess, InProcess]) -> None:
    """The lease has run out when the reaper looks; the renewal commits a moment later."""
    one, other = replicas
    attempt = one.attempt(one.submit()["id"])
    attempt_id = attempt.claim["attempt_id"]
    with one.database.write() as renewing:
        held = losses.hold(renewing, attempt_id, attempt.fence, 60.0)
        expire(other, attempt)  # only now, or one of the two services would find it first
        leases.renew(renewing, held, 60.0)
        with other.database.read() as looking:
            assert attempt_id in {row.id for row in leases.expired(looking)}
        assert attempt.claim["job_id"] not in reaped(other)
    assert attempt.claim["job_id"] not in reaped(other)
    assert attempt.heartbeat().status_code == 200


def test_a_cancel_at_one_replica_reaches_the_agent_at_the_other(
    replicas: tuple[InProcess, InProcess],
) -> None:
    one, other = replicas
    job_id = one.submit()["id"]
    attempt = one.attempt(job_id)
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(attempt.orders, wait=30)
        other.user.post(f"/v1/jobs/{job_id}/cancel")
        assert waiting.result(timeout=10).json() == {"cancel": True, "finish": False}


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_job_is_retried_while_its_sweep_is_locked(
    replicas: tuple[InProcess, InProcess], has_ended: bool
) -> None:
    """The retry does not wait for the sweep, which has ended or ends at this moment."""
    one, other = replicas
    sweep_id = create(one, parameters={RATE: {"values": [0.1, 0.01]}}, parallel=1)["id"]
    [trial] = begun(one, sweep_id, 1)
    job_id = trial["jobs"][0]["id"]
    path = f"/v1/sweeps/{sweep_id}"
    attempt = one.attempt(job_id)
    one.user.post(f"{path}/{'stop' if has_ended else 'pause'}")
    attempt.finish("diverged")
    eventually(lambda: trials_of(one, sweep_id)[0]["state"] == "failed")
    if has_ended:
        eventually(lambda: sweep_of(one, sweep_id)["state"] == "ended")
    with ThreadPoolExecutor(1) as beside, one.database.write() as ending:
        sweep = sweep_store.get(ending, sweep_id)
        retried = beside.submit(other.user.post, f"/v1/jobs/{job_id}/retry")
        try:
            assert retried.result(timeout=10).json()["state"] == "queued"
        finally:
            sweep_store.change(ending, sweep, state="ended")
    eventually(lambda: sweep_of(one, sweep_id)["state"] == "stopping")
    succeed(one.attempt(job_id), 0.5)
    eventually(lambda: sweep_of(one, sweep_id)["state"] == "ended")
    assert trials_of(one, sweep_id)[0]["state"] == "succeeded"


def test_a_database_that_was_restarted_is_used_again(
    redis_server: RedisServer, postgresql_server: PostgreSQLServer, home: Path
) -> None:
    url = postgresql_server.new_database()
    with InProcess(settings_for(home, redis_server.url, database_url=url)) as service:
        job_id = service.submit()["id"]
        postgresql_server.stop()
        try:
            refused = service.user.get(f"/v1/jobs/{job_id}")
        finally:
            postgresql_server.start()  # other tests use it
        assert refused.status_code == 503
        assert refused.json()["code"] == "unavailable"
        assert service.job(job_id)["state"] == "queued"

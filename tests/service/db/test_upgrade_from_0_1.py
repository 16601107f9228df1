"""A database of version 0.1 is upgraded when the service starts, and every job is still there."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, insert

from ipulse.stack.redis_server import RedisServer
from ipulse_core.states import ACTIVE, TERMINAL, JobState
from ipulse_service.db import migrations, tables
from ipulse_service.db.engine import Database
from tests.service.running import SPEC, InProcess, settings_for

pytestmark = pytest.mark.postgresql

# Resolved by 0.1, as its row has it.
SPEC_OF_0_1 = json.loads(
    '{"data":{"encoding":{"kind":"log_latency","tau_eff_ms":20.0,"threshold":0.2},"kind":"digits",'
    '"samples":null,"shifts":null,"split_seed":0,"step_ms":1.0,"steps":40,"test_fraction":0.2},'
    '"device":{"connection_type":"ON_DEMAND","kind":"cpu","memory":"slots","threads":0,'
    '"weights_dtype":"float32"},"metadata":{},"name":"small","network":{"delay":0,'
    '"initial_membrane_std":1.0,"layers":[{"bias":false,"capacity":null,"decay":0.95,"gain":10.0,'
    '"neurons":4,"policy":"index","recurrent":false,"second_threshold":null,"synapse_decay":null,'
    '"threshold":1.0}],"readout":{"bias":false,"decay":0.95,"gain":10.0,"kind":"leaky",'
    '"synapse_decay":null},"reset":"zero","reset_gradient":"mask","reset_on":"state",'
    '"surrogate":{"name":"superspike","slope":10.0},"trainable":[]},"seed":0,"training":'
    '{"batch_size":64,"checkpoint_epochs":1,"early_stopping":null,"epochs":30,'
    '"gradient_clipping":{"global_norm":null,"value":null},"loss":"mean_membrane_cross_entropy",'
    '"optimizer":{"beta_1":0.9,"beta_2":0.999,"epsilon":1e-07,"kind":"adam","learning_rate":0.002},'
    '"regularisers":[],"schedule":{"final_share":0.02,"shape":"constant","warmup_steps":0},'
    '"second_threshold_ramp":null,"spike_targets":null},"version":1}'
)

LAST_OF_0_1 = "0006"
CONTENT = b"weights of a job of 0.1"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HOUR_MS = 3_600_000


def job_id(state: JobState) -> str:
    return f"job_{list(JobState).index(state):024x}"


def fill(database: Database) -> None:
    """Writes what a service of 0.1 had written: a job in each state, and all that belongs to it."""
    now = round(time.time() * 1000)
    spec = json.dumps(SPEC_OF_0_1, sort_keys=True, separators=(",", ":"))
    with database.write() as transaction:
        schema = MetaData()
        schema.reflect(transaction.connection)  # the tables as they were

        def add(table: str, **row: Any) -> int:
            key = transaction.connection.execute(insert(schema.tables[table]), row)
            return int(key.inserted_primary_key[0]) if table in ("jobs", "attempts") else 0

        for state in JobState:
            has_run = state is not JobState.QUEUED
            is_held = state in ACTIVE or state in (JobState.CANCELLING, JobState.PAUSING)
            job_pk = add(
                "jobs",
                id=job_id(state),
                name=state.value,
                state=state.value,
                reason="completed" if state is JobState.SUCCEEDED else None,
                message="",
                device="cpu",
                spec=spec,
                spec_sha256=hashlib.sha256(spec.encode()).hexdigest(),
                metadata='{"state":"' + state.value + '"}',
                attempt=int(has_run),
                progress=None,
                summary='{"test_accuracy":0.5}' if state is JobState.SUCCEEDED else None,
                phase_ms='{"queue":5}',
                created_at=now - HOUR_MS,
                started_at=now - HOUR_MS if has_run else None,
                finished_at=now if state in TERMINAL else None,
                updated_at=now,
                state_since=now,
                queued_at=now - HOUR_MS,
                priority=3,
                losses=0,
                due_at=now + HOUR_MS if state is JobState.RETRY_WAIT else None,
                last_seq=2,
                version=7,
            )
            for seq, kind, body in (
                (1, "state", '{"message":"","reason":null,"state":"queued"}'),
                (2, "log", '{"level":"info","message":"a line","stream":"runner"}'),
            ):
                add("events", job_pk=job_pk, seq=seq, time=now, attempt=None, kind=kind, body=body)
            if state is JobState.QUEUED:
                add("outbox", job_pk=job_pk)
                add(
                    "idempotency_keys",
                    caller="user",
                    key="key-of-0.1",
                    fingerprint="f" * 64,
                    job_pk=job_pk,
                    created_at=now,
                )
                continue
            attempt_pk = add(
                "attempts",
                id=f"att_{job_pk:024x}",
                job_pk=job_pk,
                number=1,
                agent="agent-of-0.1",
                fence_sha256="0" * 64,
                lease_expires_at=now + HOUR_MS,
                next_event=1,
                started_at=now - HOUR_MS,
                finished_at=None if is_held else now,
                reason=None if is_held else "completed",
                message="",
                summary="{}",
            )
            add(
                "artifacts",
                id=f"art_{job_pk:024x}",
                job_pk=job_pk,
                attempt_pk=attempt_pk,
                name="weights.npz",
                role="weights",
                media_type="application/zip",
                size=len(CONTENT),
                sha256=SHA256,
                created_at=now,
            )
        add("agents", name="a", device_kinds='["cpu","ipu"]', resting='["ipu"]', seen_at=now)


def test_every_job_of_0_1_is_served_after_an_upgrade(
    tmp_path: Path, redis_server: RedisServer, database_settings: dict[str, str]
) -> None:
    home = tmp_path / "home"
    settings = settings_for(home, redis_server.url, **database_settings)
    database = Database(settings.database_url)
    with database.write() as transaction:
        tables.metadata.drop_all(transaction.connection)
        transaction.connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
    with database.write() as transaction:
        migrations.migrate(transaction, to=LAST_OF_0_1)
    fill(database)
    database.close()
    blob = settings.artifacts_dir / "sha256" / SHA256[:2] / SHA256
    blob.parent.mkdir(parents=True)
    blob.write_bytes(CONTENT)

    with InProcess(settings) as service:
        with service.database.read() as transaction:
            context = MigrationContext.configure(transaction.connection)
            assert compare_metadata(context, tables.metadata) == []
        listed = service.user.get("/v1/jobs", params={"page_size": 100}).json()["jobs"]
        assert {job["id"]: job["state"] for job in listed} == {
            job_id(state): state.value for state in JobState
        }
        for state in JobState:
            job = service.job(job_id(state))
            assert (job["state"], job["priority"], job["version"]) == (state.value, 3, 7)
            assert job["spec"] == SPEC_OF_0_1
            assert job["metadata"] == {"state": state.value}
            assert [event["seq"] for event in service.events(job["id"])["events"]] == [1, 2]
            for artifact in service.user.get(f"/v1/jobs/{job['id']}/artifacts").json()["artifacts"]:
                path = f"/v1/jobs/{job['id']}/artifacts/{artifact['id']}/content"
                for headers, content in (({}, CONTENT), ({"range": "bytes=3-5"}, CONTENT[3:6])):
                    assert service.user.get(path, headers=headers).content == content
        assert service.job(job_id(JobState.SUCCEEDED))["summary"] == {"test_accuracy": 0.5}
        # The queued job runs, the paused one continues, the running one can be cancelled.
        assert service.attempt(job_id(JobState.QUEUED)).complete()["state"] == "succeeded"
        service.user.post(f"/v1/jobs/{job_id(JobState.PAUSED)}/resume")
        assert service.attempt(job_id(JobState.PAUSED)).complete()["state"] == "succeeded"
        cancelled = service.user.post(f"/v1/jobs/{job_id(JobState.RUNNING)}/cancel")
        assert cancelled.json()["state"] == "cancelling"
        # No agent has a usable IPU: the quarantine was kept.
        ipu = service.submit({**SPEC, "device": {"kind": "ipu"}})["id"]
        assert service.job(ipu)["waiting_on"]["reason"] == "quarantine"


@pytest.mark.parametrize("revision", ["0001", "0003", LAST_OF_0_1])
def test_a_revision_in_between_is_upgraded_too(tmp_path: Path, revision: str) -> None:
    database = Database(f"sqlite:///{tmp_path}/ipulse.db")
    with database.write() as transaction:
        migrations.migrate(transaction, to=revision)
    migrations.upgrade(database)
    with database.read() as transaction:
        context = MigrationContext.configure(transaction.connection)
        assert compare_metadata(context, tables.metadata) == []
    database.close()

"""Puts two jobs through a service with the client that openapi-python-client makes.

The first is trained by the service's own agent; for the second the program is the agent.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import TypeVar

from generated import AuthenticatedClient
from generated.api.artifacts import download_artifact, get_profile, list_artifacts
from generated.api.events import list_events, read_log, stream_events
from generated.api.health import get_readiness
from generated.api.jobs import get_job, list_jobs, submit_job, validate_spec
from generated.api.operations import get_metrics
from generated.api.worker import (
    append_to_file,
    claim_job,
    finish_attempt,
    get_offset,
    register_agent,
    report_events,
)
from generated.models.agent_registration import AgentRegistration
from generated.models.claim_request import ClaimRequest
from generated.models.claimed_attempt import ClaimedAttempt
from generated.models.cpu_device import CPUDevice
from generated.models.digits_data import DigitsData
from generated.models.event_batch import EventBatch
from generated.models.experiment_spec import ExperimentSpec
from generated.models.finish_request import FinishRequest
from generated.models.ipu_device import IPUDevice
from generated.models.job_detail import JobDetail
from generated.models.layer_spec import LayerSpec
from generated.models.log_event import LogEvent
from generated.models.network_spec import NetworkSpec
from generated.models.problem_document import ProblemDocument
from generated.models.stored_file import StoredFile
from generated.models.training_spec import TrainingSpec
from generated.types import File

T = TypeVar("T")
AGENT = "generated-python"
CONTENT = b"uploaded by a generated client"


def success(answer: T | ProblemDocument | None) -> T:
    assert answer is not None
    assert not isinstance(answer, ProblemDocument), answer
    return answer


def spec(device: CPUDevice | IPUDevice) -> ExperimentSpec:
    return ExperimentSpec(
        version=1,
        name=AGENT,
        data=DigitsData(samples=300),
        network=NetworkSpec(layers=[LayerSpec(neurons=32)]),
        training=TrainingSpec(epochs=2),
        device=device,
    )


def follow(client: AuthenticatedClient, job_id: str) -> list[str]:
    """Poll the pages of events to the end; return the kinds."""
    kinds: list[str] = []
    after, end = 0, False
    while not end:
        page = success(list_events.sync(job_id, client=client, after=after))
        kinds += [event.kind for event in page.events]
        end = page.end
        if page.next_after == after:
            time.sleep(0.2)
        after = page.next_after
    return kinds


def download(client: AuthenticatedClient, job_id: str, folder: Path) -> None:
    for artifact in success(list_artifacts.sync(job_id, client=client)).artifacts:
        file = success(download_artifact.sync(job_id, artifact.id, client=client))
        assert isinstance(file, File)
        content = file.payload.read()
        assert len(content) == artifact.size
        (folder / artifact.name).write_bytes(content)


def train(client: AuthenticatedClient, folder: Path) -> str:
    wrong = ExperimentSpec(version=1, network=NetworkSpec(layers=[LayerSpec(neurons=0)]))
    refused = validate_spec.sync(client=client, body=wrong)
    assert isinstance(refused, ProblemDocument)
    assert [error.pointer for error in refused.errors] == ["/network/layers/0/neurons"]
    right = spec(CPUDevice(threads=1))
    assert success(validate_spec.sync(client=client, body=right)).valid
    job = success(submit_job.sync(client=client, body=right, idempotency_key="python-1"))
    again = success(submit_job.sync(client=client, body=right, idempotency_key="python-1"))
    assert again.id == job.id
    assert job.id in [one.id for one in success(list_jobs.sync(client=client)).jobs]
    kinds = follow(client, job.id)
    assert {"state", "phase", "metric", "log"} <= set(kinds), kinds
    ended = success(get_job.sync(job.id, client=client))
    assert isinstance(ended, JobDetail)
    assert ended.state == "succeeded", ended
    # This generator has no streams: the one of a job that has ended arrives whole.
    text = stream_events.sync(job.id, client=client)
    assert isinstance(text, str)
    assert text.count("\nid: ") == len(kinds)
    assert "\nevent: end\n" in text
    assert isinstance(success(read_log.sync(job.id, client=client)), str)
    assert get_profile.sync(job.id, client=client) is not None
    assert "ipulse_jobs" in str(success(get_metrics.sync(client=client)))
    download(client, job.id, folder)
    return job.id


def upload(user: AuthenticatedClient, worker: AuthenticatedClient, protocol: int) -> str:
    """Be the agent of a job: claim it, report an event, upload a file, finish."""
    agent = AgentRegistration(agent=AGENT, device_kinds=["ipu"])
    answer = register_agent.sync_detailed(client=worker, body=agent, ip_ulse_protocol=protocol)
    assert answer.status_code == 204
    job = success(submit_job.sync(client=user, body=spec(IPUDevice())))
    request = ClaimRequest(job_id=job.id, agent=AGENT, device_kinds=["ipu"])
    claim = success(claim_job.sync(client=worker, body=request, ip_ulse_protocol=protocol))
    assert isinstance(claim, ClaimedAttempt)
    batch = EventBatch(first=1, events=[LogEvent(message="hello", kind="log")])
    told = report_events.sync(
        claim.attempt_id, client=worker, body=batch, ip_ulse_fence=claim.fence
    )
    assert success(told).next_ == 2
    digest = hashlib.sha256(CONTENT).hexdigest()
    sent = 0
    while sent < len(CONTENT):  # in two parts, as after a broken connection
        part = File(payload=io.BytesIO(CONTENT[sent : sent + 20]))
        stored = append_to_file.sync(
            claim.attempt_id,
            "upload.log",
            client=worker,
            body=part,
            role="log",
            sha256=digest,
            size=len(CONTENT),
            upload_offset=sent,
            ip_ulse_fence=claim.fence,
            ip_ulse_protocol=protocol,
        )
        sent += 20
        if sent < len(CONTENT):
            offset = get_offset.sync_detailed(
                claim.attempt_id,
                "upload.log",
                client=worker,
                role="log",
                sha256=digest,
                size=len(CONTENT),
                ip_ulse_fence=claim.fence,
                ip_ulse_protocol=protocol,
            )
            assert offset.headers["upload-offset"] == "20"
    assert isinstance(stored, StoredFile)
    assert stored.sha256 == digest
    end = FinishRequest(reason="diverged", kind="done")
    finished = success(
        finish_attempt.sync(claim.attempt_id, client=worker, body=end, ip_ulse_fence=claim.fence)
    )
    assert finished.state == "failed"
    return job.id


def main() -> None:
    url, folder = os.environ["IPULSE_URL"], Path(sys.argv[1])
    user = AuthenticatedClient(base_url=url, token=os.environ["IPULSE_TOKEN"])
    worker = AuthenticatedClient(base_url=url, token=os.environ["IPULSE_WORKER_TOKEN"])
    assert success(get_readiness.sync(client=user)).status == "ok"
    trained = train(user, folder)
    uploaded = upload(user, worker, int(os.environ["IPULSE_PROTOCOL"]))
    (folder / "uploaded").mkdir()
    download(user, uploaded, folder / "uploaded")
    print(json.dumps({"trained": trained, "uploaded": uploaded}))  # noqa: T201


main()

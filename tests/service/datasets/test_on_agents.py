"""Agents download the data sets of their jobs."""

from __future__ import annotations

import secrets

from tests.service.datasets.files import spikes
from tests.service.datasets.test_in_specs import spec
from tests.service.datasets.uploading import check_refused, push
from tests.service.running import InProcess


class TestAgents:
    def test_download_what_their_job_needs_and_nothing_else(self, service: InProcess) -> None:
        content = spikes(seed=secrets.randbelow(2**31))
        version = push(service, content)
        attempt = service.attempt(
            service.submit(spec(kind="npz", dataset=version["dataset"]))["id"]
        )
        place = f"/v1/worker/attempts/{attempt.claim['attempt_id']}/dataset"
        fence = {"ipulse-fence": attempt.fence}
        whole = service.worker.get(place, headers=fence)
        assert whole.content == content
        part = service.worker.get(place, headers={**fence, "range": "bytes=5-"})
        assert (part.status_code, part.content) == (206, content[5:])
        other = service.attempt(service.submit()["id"])
        place = f"/v1/worker/attempts/{other.claim['attempt_id']}/dataset"
        none = service.worker.get(place, headers={"ipulse-fence": other.fence})
        check_refused(none, 404, "not_found")
        check_refused(service.worker.get(place, headers=fence), 409, "stale_token")

    def test_say_what_they_keep(self, service: InProcess) -> None:
        version = push(service, spikes(seed=secrets.randbelow(2**31)))
        place = f"/v1/datasets/{version['dataset']}/versions/1"
        assert version["agents"] == []
        body = {"agent": "keeper", "device_kinds": ["cpu"], "cached": [version["sha256"]]}
        assert service.worker.post("/v1/worker/agents", json=body).status_code == 204
        assert service.user.get(place).json()["agents"] == ["keeper"]
        service.worker.post("/v1/worker/sign-off", json={"agent": "keeper"})
        assert service.user.get(place).json()["agents"] == []
        bad = {**body, "cached": ["../x"]}
        check_refused(service.worker.post("/v1/worker/agents", json=bad), 422, "invalid_input")

    def test_a_failed_download_is_tried_again(self, service: InProcess) -> None:
        version = push(service, spikes(seed=secrets.randbelow(2**31)))
        uploaded = service.submit(spec(kind="npz", dataset=version["dataset"]))
        attempt = service.attempt(uploaded["id"])
        attempt.finish("data_unavailable", "The connection broke.")
        assert service.job(uploaded["id"])["state"] in ("retry_wait", "queued")
        service.user.post(f"/v1/jobs/{uploaded['id']}/cancel")

"""The route that imports a job: uploads that are not complete, unknown, or no archives."""

from __future__ import annotations

from tests.service.datasets.uploading import announce, check_refused, send, upload
from tests.service.running import Service


def test_an_upload_must_be_complete_and_an_archive(service: Service) -> None:
    content = b"no archive"
    begun = announce(service, content, purpose="archive").json()
    body = {"upload_id": begun["id"]}
    check_refused(service.user.post("/v1/jobs:import", json=body), 409, "upload_incomplete")
    assert send(service, begun["id"], content).status_code == 204
    check_refused(service.user.post("/v1/jobs:import", json=body), 422, "invalid_input")
    check_refused(
        service.user.post("/v1/jobs:import", json={"upload_id": "upl_" + "0" * 24}),
        404,
        "not_found",
    )


def test_a_file_of_another_purpose_is_no_archive(service: Service) -> None:
    body = {"upload_id": upload(service, b"weights, perhaps")}
    check_refused(service.user.post("/v1/jobs:import", json=body), 422, "invalid_input")

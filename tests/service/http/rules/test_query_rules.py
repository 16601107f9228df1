"""How numbers and times are written in queries and headers."""

from __future__ import annotations

import httpx
import pytest

from tests.service.http.rules.resources import Resources
from tests.service.running import SPEC, InProcess

TIME = "2026-01-31T12:00:00.5+01:00"


@pytest.mark.parametrize("odd", ["+0", "0.0", "1_0", "0x1", "1e1", " 1", "\u0661", "", "true"])
def test_an_integer_in_a_query_or_header_is_written_in_digits(
    service: InProcess, resources: Resources, odd: str
) -> None:
    job = f"/v1/jobs/{resources.finished}"
    queries = [("/v1/jobs", "page_size"), (f"{job}/events", "after"), (f"{job}/events", "limit")]
    for path, name in queries:
        check_refused(service.user.get(path, params={name: odd}), f"/query/{name}", odd)
    for name in ("priority", "run_seconds"):
        answer = service.user.post("/v1/jobs", json=SPEC, params={name: odd})
        check_refused(answer, f"/query/{name}", odd)
    announced = {"size": odd}
    check_refused(resources.attempt.put("a", "log", announced=announced), "/query/size", odd)
    for header in ("upload-offset", "ipulse-protocol"):
        headers = {"ipulse-fence": resources.attempt.fence, "upload-offset": "0"}
        headers[header] = odd
        if odd.strip() != odd:
            continue  # spaces around a value are no part of it
        path = f"{resources.attempt.path}/artifacts/a"
        query = {"role": "log", "size": "0", "sha256": "0" * 64}
        encoded = {name: value.encode() for name, value in headers.items()}
        check_refused(
            service.worker.patch(path, params=query, headers=encoded), f"/header/{header}", odd
        )


def check_refused(answer: httpx.Response, pointer: str, odd: str) -> None:
    assert answer.status_code == 400, (pointer, odd)
    [problem] = answer.json()["errors"]
    assert problem["pointer"].lower() == pointer
    assert problem["code"] == "int_parsing"


@pytest.mark.parametrize("odd", ["1700000000", "5.5", "2026-01", "2026-01-31T", "now"])
def test_a_time_in_a_query_is_written_as_documented(service: InProcess, odd: str) -> None:
    for name in ("created_after", "created_before"):
        answer = service.user.get("/v1/jobs", params={name: odd})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == f"/query/{name}"
        assert service.user.get("/v1/jobs", params={name: TIME}).status_code == 200


@pytest.mark.parametrize("plain", ["2026-01-31", "2026-01-31T00:00:00", "2026-01-31 00:00"])
def test_a_time_without_an_offset_is_in_utc(service: InProcess, plain: str) -> None:
    answer = service.user.get("/v1/jobs", params={"created_before": plain})
    assert answer.status_code == 200, answer.text

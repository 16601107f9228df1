"""Chains of requests that the OpenAPI document allows: each status is one that it describes."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from fnmatch import fnmatch

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from ipulse_service.db.access import ProjectRole
from tests.service.people import person
from tests.service.running import InProcess

pytestmark = pytest.mark.postgresql

CHAINS, STEPS = 12, 6  # on each database; about ten seconds


@pytest.mark.parametrize(
    "role", ["admin", *(pytest.param(role.value, marks=pytest.mark.verify) for role in ProjectRole)]
)
def test_every_answer_is_one_that_the_document_describes(service: InProcess, role: str) -> None:
    service.wait_until_ready()
    document = service.user.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=service.url)
    schema.config.generation.update(with_security_parameters=False)  # ours are real ones
    answered: Counter[int] = Counter()
    with ExitStack() as stack:
        who = service.user if role == "admin" else person(service, stack, f"a-{role}", default=role)
        token = who.headers["authorization"]
    worker = service.worker.headers["authorization"]

    class Chains(schema.as_state_machine()):  # type: ignore[misc]  # made from the document
        def get_call_kwargs(self, case: schemathesis.Case) -> dict[str, object]:
            is_workers = case.operation.path.startswith("/v1/worker/")
            return {"headers": {"authorization": worker if is_workers else token}}

        def validate_response(
            self, response: schemathesis.Response, case: schemathesis.Case, **_: object
        ) -> None:
            answered[response.status_code] += 1
            assert response.status_code != 500, response.text
            described = document["paths"][case.operation.path][case.method.lower()]["responses"]
            status, place = str(response.status_code), (case.method, case.operation.path)
            assert status in described, (place, status)
            content = described[status].get("content", {})
            [media_type, *_] = response.headers.get("content-type", [""])
            if content:
                name = media_type.partition(";")[0]
                assert any(fnmatch(name, pattern) for pattern in content), (place, media_type)

    # One at a time: what a chain leaves in the service would make a repetition another chain.
    once = settings(
        max_examples=1,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    for _ in range(CHAINS):
        Chains.run(settings=once)
    assert answered[200] > (5 if role == "admin" else 0), answered
    assert not answered[401], answered

"""Chains of requests that the OpenAPI document allows: each status is one that it describes."""

from __future__ import annotations

from collections import Counter

import schemathesis
from hypothesis import HealthCheck, Phase, settings

from tests.service.running import InProcess

CHAINS, STEPS = 12, 6  # on each database; about ten seconds


def test_every_answer_is_one_that_the_document_describes(service: InProcess) -> None:
    service.wait_until_ready()
    document = service.user.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=service.url)
    schema.config.generation.update(with_security_parameters=False)  # ours are real ones
    answered: Counter[int] = Counter()
    token = service.user.headers["authorization"]
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
            status = str(response.status_code)
            assert status in described or f"{status[0]}XX" in described, (case.method, status)

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
    assert answered[200] > 5, answered
    assert not answered[401], answered

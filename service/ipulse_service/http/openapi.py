"""What the OpenAPI document says beside FastAPI's part: schemas, examples, where a token is
needed. Imported when it is asked for: all of these classes take a twelfth of a start."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from ipulse.spec import ExperimentSpec
from ipulse_core.json_schema import json_schema
from ipulse_service.http.auth import OPEN_PATHS
from ipulse_service.http.examples import EXAMPLES
from ipulse_service.http.routes.tokens import TokenRequest
from ipulse_service.http.shapes import EventPageBody, JobBody, JobPageBody, ProblemDocument
from ipulse_service.http.worker_requests import Announcement, ClaimRequest, EventBatch, Finish

# What is posted is parsed by these classes, so they describe it too.
_REQUESTS = (ExperimentSpec, TokenRequest, Announcement, ClaimRequest, EventBatch, Finish)
_ANSWERS = (JobBody, JobPageBody, EventPageBody, ProblemDocument)


def complete(document: dict[str, Any]) -> None:
    """Adds to a document what FastAPI cannot know. As a dependency of every route, the token would
    cost each request time."""
    schemas = document["components"]["schemas"]
    schemas.update({cls.__name__: json_schema(cls) for cls in _REQUESTS})
    _, answers = models_json_schema(
        [(cls, "serialization") for cls in _ANSWERS], ref_template="#/components/schemas/{model}"
    )
    schemas.update(answers["$defs"])
    for name, example in EXAMPLES.items():
        schemas[name] = {**schemas[name], "examples": [example]}
    document["components"]["securitySchemes"] = {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        if path not in OPEN_PATHS:
            for operation in operations.values():
                operation["security"] = [{"HTTPBearer": []}]

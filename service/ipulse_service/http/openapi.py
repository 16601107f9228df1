"""The OpenAPI document: what FastAPI derives from the routes, and the parts that it cannot know."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter

from ipulse.models import adapter_of
from ipulse.spec import ExperimentSpec
from ipulse_service.http.auth import OPEN_PATHS
from ipulse_service.http.routes.tokens import TokenRequest
from ipulse_service.http.schemas.events import EventPage
from ipulse_service.http.schemas.jobs import JobDetail, JobPage, JobSummary
from ipulse_service.http.schemas.problems import ProblemDocument
from ipulse_service.http.schemas.requests import EXAMPLES
from ipulse_service.http.worker_requests import Announcement, ClaimRequest, EventBatch, Finish

# FastAPI leaves nulls out of its document, also out of examples.
_EXAMPLES_WITH_NULLS: tuple[type[BaseModel], ...] = (EventPage, JobDetail, JobPage, JobSummary)
_REQUESTS = (ExperimentSpec, TokenRequest, Announcement, ClaimRequest, EventBatch, Finish)


class Application(FastAPI):
    """FastAPI, with problem documents and open paths in its OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI document."""
        if self.openapi_schema is None:
            _complete(super().openapi())
        assert self.openapi_schema is not None  # noqa: S101 - FastAPI has stored it
        return self.openapi_schema


def _complete(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    _, models = TypeAdapter.json_schemas(
        [
            *((cls, "validation", adapter_of(cls)) for cls in _REQUESTS),
            (ProblemDocument, "serialization", adapter_of(ProblemDocument)),
        ],
        ref_template="#/components/schemas/{model}",
    )
    schemas.update(models["$defs"])
    for cls in _REQUESTS:
        schemas[cls.__name__]["examples"] = [EXAMPLES[cls.__name__]]
    for model in _EXAMPLES_WITH_NULLS:
        schemas[model.__name__] |= cast(dict[str, Any], model.model_config["json_schema_extra"])
    for path in OPEN_PATHS & document["paths"].keys():
        for operation in document["paths"][path].values():
            operation.pop("security", None)

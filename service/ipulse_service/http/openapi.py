"""The OpenAPI document: what FastAPI derives from the routes, and the parts that it cannot know."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ipulse_service.http.auth import OPEN_PATHS
from ipulse_service.http.schemas.base import SPEC
from ipulse_service.http.schemas.events import EventList
from ipulse_service.http.schemas.jobs import JobDetail, JobList, JobSummary
from ipulse_service.http.schemas.problems import ProblemDocument

# FastAPI leaves nulls out of its document, also out of examples.
_EXAMPLES_WITH_NULLS: tuple[type[BaseModel], ...] = (EventList, JobDetail, JobList, JobSummary)


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
    _, problems = models_json_schema(
        [(ProblemDocument, "serialization")], ref_template="#/components/schemas/{model}"
    )
    schemas.update(problems["$defs"])
    schemas["ExperimentSpec"]["examples"] = [SPEC]
    for model in _EXAMPLES_WITH_NULLS:
        schemas[model.__name__] |= cast(dict[str, Any], model.model_config["json_schema_extra"])
    for path in OPEN_PATHS & document["paths"].keys():
        for operation in document["paths"][path].values():
            operation.pop("security", None)
            for status in ("401", "403", "429"):
                operation["responses"].pop(status, None)

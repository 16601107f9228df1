"""The OpenAPI document: what FastAPI derives from the routes, and the parts that it cannot know.

Code generators must be able to read it. They refuse defaults that are objects, and need a schema of
every body.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.concurrency import run_in_threadpool

from ipulse.sweeps import SweepConfig
from ipulse_service.http import sse
from ipulse_service.http.auth import OPEN_PATHS
from ipulse_service.http.schemas.agents.worker import ClaimedAttempt
from ipulse_service.http.schemas.base import SPEC
from ipulse_service.http.schemas.data.datasets import DatasetDetail, DatasetList, VersionInfo
from ipulse_service.http.schemas.jobs import events
from ipulse_service.http.schemas.jobs.batches import SubmittedBatch
from ipulse_service.http.schemas.jobs.comparison import ComparedJob, ComparisonInfo
from ipulse_service.http.schemas.jobs.events import EventList
from ipulse_service.http.schemas.jobs.job_list import JobList, ListedJob
from ipulse_service.http.schemas.jobs.jobs import JobDetail
from ipulse_service.http.schemas.jobs.plans import PlannedJob
from ipulse_service.http.schemas.jobs.validated_spec import ValidatedSpec
from ipulse_service.http.schemas.problems import NirProblem, ProblemDocument
from ipulse_service.http.schemas.sweeps.sweeps import SweepDetail, SweepList
from ipulse_service.http.schemas.sweeps.trials import TrialList

_REF = "#/components/schemas/{model}"
# FastAPI leaves nulls out of its document, also out of examples.
_EXAMPLES_WITH_NULLS: tuple[type[BaseModel], ...] = (
    ClaimedAttempt,
    ComparedJob,
    ComparisonInfo,
    DatasetDetail,
    DatasetList,
    EventList,
    JobDetail,
    JobList,
    ListedJob,
    PlannedJob,
    SubmittedBatch,
    SweepConfig,
    SweepDetail,
    SweepList,
    TrialList,
    ValidatedSpec,
    VersionInfo,
)

Schemas = dict[str, dict[str, Any]]


class Application(FastAPI):
    """FastAPI, with problem documents and open paths in its OpenAPI document."""

    def __init__(self, **options: Any) -> None:
        super().__init__(openapi_url=None, **options)
        self._building = threading.Lock()
        self._encoded: bytes | None = None
        self.add_route("/openapi.json", self._serve_document, include_in_schema=False)

    def openapi(self) -> dict[str, Any]:
        """Returns the OpenAPI document."""
        with self._building:
            if self.openapi_schema is None:
                _complete(super().openapi())
        assert self.openapi_schema is not None  # noqa: S101 - FastAPI has stored it
        return self.openapi_schema

    async def _serve_document(self, _request: Request) -> Response:
        # In a thread: it takes seconds on a busy machine.
        content = self._encoded or await run_in_threadpool(self._encode)
        return Response(content, media_type="application/json")

    def _encode(self) -> bytes:
        self._encoded = json.dumps(self.openapi(), ensure_ascii=False).encode()
        return self._encoded


def _complete(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    models = (ProblemDocument, NirProblem)
    _, problems = models_json_schema(
        [(model, "serialization") for model in models], ref_template=_REF
    )
    schemas.update(problems["$defs"])
    schemas.update(events.json_schemas(_REF))
    schemas["EventList"]["properties"]["events"]["items"] = {"$ref": events.REF}
    schemas["ExperimentSpec"]["examples"] = [SPEC]
    for model in _EXAMPLES_WITH_NULLS:
        schemas[model.__name__] |= cast(dict[str, Any], model.model_config["json_schema_extra"])
    describe_object_defaults(schemas)
    for item in document["paths"].values():
        for response in item.get("head", {}).get("responses", {}).values():
            response.pop("content", None)  # nor has an error a body
        for operation in item.values():
            stream = operation["responses"].get("200", {}).get("content", {}).get(sse.MEDIA_TYPE)
            if stream is not None:
                stream["schema"] = {"$ref": events.MESSAGE_REF}  # FastAPI would add "a string"
    for path in OPEN_PATHS & document["paths"].keys():
        for operation in document["paths"][path].values():
            operation.pop("security", None)
            for status in ("401", "403", "429"):
                operation["responses"].pop(status, None)


def describe_object_defaults(schemas: Schemas) -> None:
    """Moves defaults that are objects from `default` into the description of the property."""
    properties = [
        item for schema in schemas.values() for item in schema.get("properties", {}).values()
    ]
    short = [_short(schemas, item, item.get("default")) for item in properties]
    for item, default in zip(properties, short, strict=True):
        if _has_objects(item.get("default")):
            del item["default"]
            names = [] if "description" in item else list(_references(item))
            texts = [schemas[name].get("description", "").partition("\n")[0] for name in names[:1]]
            described = item.get("description", "".join(texts))
            item["description"] = f"{described} Default: `{json.dumps(default)}`.".strip()


def _has_objects(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_objects, value)))


def _short(schemas: Schemas, described: dict[str, Any], value: Any) -> Any:
    """Returns a value without the fields of objects that have their defaults."""
    if not isinstance(value, dict):
        return value
    members = [_member(schemas, one, value) for one in _references(described)]
    properties = next((member for member in members if member is not None), {})
    kept = {}
    for name, item in value.items():
        field = properties.get(name, {})
        if name == "kind" or "default" not in field or field["default"] != item:
            kept[name] = _short(schemas, field, item)
    return kept


def _references(described: dict[str, Any]) -> Iterator[str]:
    for choice in (described, *described.get("oneOf", ()), *described.get("anyOf", ())):
        if "$ref" in choice:
            yield choice["$ref"].rpartition("/")[2]


def _member(schemas: Schemas, name: str, value: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the properties of a schema unless it is for another kind than the value's."""
    properties = cast(dict[str, Any], schemas[name].get("properties", {}))
    kind = properties.get("kind", {}).get("const", value.get("kind"))
    return properties if kind == value.get("kind") else None

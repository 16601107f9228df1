"""Events as the API returns them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter
from pydantic.json_schema import models_json_schema

from ipulse_core import events as protocol
from ipulse_core.states import JobState, Reason
from ipulse_service.http.schemas.base import JOB_ID, METRIC, Timestamp, example

REF = "#/components/schemas/JobEvent"  # any event of a job
MESSAGE_REF = "#/components/schemas/StreamMessage"  # of a stream

# Agents report these fields; the service stores them and adds those of `_Stored`.
_REPORTED = (
    protocol.PhaseEvent,
    protocol.ProgressEvent,
    protocol.MetricEvent,
    protocol.LogEvent,
    protocol.CheckpointEvent,
)


class ActivityList(BaseModel):
    """Some changes of all jobs in order."""

    model_config = example(
        events=[
            {
                "cursor": "0.2a.19c1f0a2b40",
                "job_id": JOB_ID,
                "name": "digits",
                "project": "default",
                "owner": "alice",
                "seq": 1,
                "time": "2026-01-31T12:00:00.000Z",
                "attempt": None,
                "kind": "state",
                "state": "queued",
                "reason": None,
                "message": "",
            }
        ],
        next_after="0.2a.19c1f0a2b40",
        has_more=False,
    )

    events: list[dict[str, Any]]
    next_after: str = Field(description="The value of `after` for the next page.")
    has_more: bool = Field(description="True if the next page can be read at once.")


class EventList(BaseModel):
    """One page of a job's events in order."""

    model_config = example(
        events=[
            {
                "seq": 1,
                "time": "2026-01-31T12:00:00.000Z",
                "attempt": None,
                "kind": "state",
                "state": "queued",
                "reason": None,
                "message": "",
            },
            {
                "seq": 12,
                "time": "2026-01-31T12:00:03.004Z",
                "attempt": 1,
                "kind": "metric",
                **METRIC,
            },
        ],
        next_after=12,
        end=False,
    )

    events: list[dict[str, Any]]
    next_after: int = Field(description="The value of `after` for the next page.")
    end: bool = Field(description="True if no event follows this page, now or later.")


class _Stored(BaseModel):
    """The fields of every stored event."""

    seq: int = Field(description="Number in the job's one sequence, from 1 without gaps.")
    time: Timestamp
    attempt: int | None = Field(
        description="Number of the attempt that reported it; null: the service."
    )


class JobStateEvent(_Stored):
    """The job entered a state."""

    kind: Literal["state"]
    state: JobState
    reason: Reason | None = Field(description="Why, where that is known.")
    message: str = Field(description="For people; the wording may change.")
    by: str | None = Field(
        default=None, description="The person or service account that asked for the change."
    )


class StreamEnd(BaseModel):
    """The last message of a stream: the job has ended, and no event follows."""

    state: JobState
    last_seq: int = Field(description="Sequence number of the job's last event.")


def json_schemas(ref_template: str) -> dict[str, dict[str, Any]]:
    """Returns the JSON Schemas of stored events and of the messages of a stream, by name."""
    _, own = models_json_schema(
        [(JobStateEvent, "serialization"), (StreamEnd, "serialization")], ref_template=ref_template
    )
    schemas: dict[str, dict[str, Any]] = own["$defs"]
    common = _Stored.model_json_schema()
    kinds = {"state": "JobStateEvent"}
    for reported in _REPORTED:
        schema = TypeAdapter(reported).json_schema()
        name = f"Job{reported.__name__}"
        kind = schema["properties"]["kind"].pop("default")
        kinds[kind] = name
        del schema["additionalProperties"]  # later versions may add fields
        schemas[name] = {
            **schema,
            "title": name,
            "properties": {**common["properties"], **schema["properties"]},
            "required": [*common["required"], *schema["required"], "kind"],
        }
    places = {kind: ref_template.format(model=name) for kind, name in kinds.items()}
    schemas["JobEvent"] = {
        "title": "JobEvent",
        "description": "An event of a job.",
        "oneOf": [{"$ref": place} for place in places.values()],
        "discriminator": {"propertyName": "kind", "mapping": places},
    }
    schemas["StreamMessage"] = {
        "title": "StreamMessage",
        "description": "The data of a message of the stream: JSON on one line. A client that does "
        "not decode streams has the whole stream as text.",
        "anyOf": [
            {"$ref": ref_template.format(model="JobEvent")},
            {"$ref": ref_template.format(model="StreamEnd")},
            {"type": "string"},
        ],
    }
    return schemas

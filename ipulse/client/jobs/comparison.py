"""Comparisons of jobs: the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ipulse.client.transport.api_call import JSON_CONTENT, APICall, object_in
from ipulse.times import zone_parameter
from ipulse_core import strict_json


def compare(
    jobs: Sequence[str] | None, query: str | None, chosen: Mapping[str, Sequence[str] | None]
) -> APICall[dict[str, Any]]:
    """Return the call that compares jobs; of `chosen`, None leaves the choice to the service."""
    body: dict[str, Any] = {
        name: list(names) for name, names in chosen.items() if names is not None
    }
    if jobs is not None:
        body["jobs"] = list(jobs)
    if query is not None:
        body.update({"q": query, **zone_parameter(query)})
    content = strict_json.dumps(body).encode()
    return APICall("POST", "/v1/jobs:compare", object_in, headers=JSON_CONTENT, content=content)

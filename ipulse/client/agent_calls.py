"""The calls of the HTTP API about agents."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from ipulse_core import strict_json

from .calls import JSON_CONTENT, APICall, object_in
from .resources import JoinToken


def create_join_token(labels: Mapping[str, str], uses: int, seconds: int) -> APICall[JoinToken]:
    """Return the call that creates a join token."""

    def read(response: httpx.Response) -> JoinToken:
        return JoinToken.from_json(object_in(response))

    body = {"labels": dict(labels), "uses": uses, "seconds": seconds}
    content = strict_json.dumps(body).encode()
    return APICall("POST", "/v1/join-tokens", read, headers=JSON_CONTENT, content=content)

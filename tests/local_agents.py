"""The local agents of a service, played by one HTTP client."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import httpx

from ipulse import agent_tokens
from ipulse.key_file import key_in

NAMED_IN_BODY = ("/v1/worker/agents", "/v1/worker/claims", "/v1/worker/sign-off")
_NAMED = re.compile(rb'"agent": ?"([^"]+)"')


def token(home: Path, name: str = "agent-1") -> str:
    """The token of a local agent of a home."""
    return agent_tokens.token_of(key_in(home / "agent-key"), name)


class LocalAgents(httpx.Auth):
    """Sends each request with the token of the agent that it names, or that holds its attempt."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._holders: dict[str, str] = {}

    def sync_auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        name = self._named(request)
        request.headers["authorization"] = f"Bearer {token(self._home, name)}"
        response = yield request
        if request.url.path == "/v1/worker/claims" and response.status_code == httpx.codes.OK:
            response.read()
            self._holders[response.json()["attempt_id"]] = name

    def _named(self, request: httpx.Request) -> str:
        path = request.url.path
        name = request.url.params.get("agent") or "agent-1"
        if path in NAMED_IN_BODY and request.method == "POST":
            # To parse a body would cost the memory that tests of the service measure.
            named = _NAMED.search(request.read())
            with suppress(UnicodeDecodeError):
                name = named[1].decode() if named else name
        if path.startswith("/v1/worker/attempts/"):
            name = self._holders.get(path.split("/")[4], name)
        form = agent_tokens.token_of(b"", name)
        return name if agent_tokens.named_in(form) else "agent-1"

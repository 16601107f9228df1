"""The calls of the HTTP API about access tokens, join tokens and agents."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import httpx

from ipulse.client.transport.api_call import JSON_CONTENT, APICall, object_in
from ipulse_core import strict_json
from ipulse_core.errors import NotFound
from ipulse_core.messages import ID

from .resources import AgentStatus, DeviceStatus, JoinToken, Token


def create_token(name: str, role: str, seconds: int, submit_code: bool) -> APICall[Token]:
    """Return the call that creates a token."""

    def read(response: httpx.Response) -> Token:
        value = object_in(response)
        return Token.from_json(value["about"], value["token"])

    body: dict[str, object] = {"name": name, "role": role, "seconds": seconds}
    if submit_code:  # services before 0.2 do not know it
        body["submit_code"] = True
    content = strict_json.dumps(body).encode()
    return APICall("POST", "/v1/tokens", read, headers=JSON_CONTENT, content=content)


def tokens() -> APICall[list[Token]]:
    """Return the call that lists the tokens."""

    def read(response: httpx.Response) -> list[Token]:
        return [Token.from_json(item) for item in object_in(response)["tokens"]]

    return APICall("GET", "/v1/tokens", read)


def change_token(token_id: str, submit_code: bool) -> APICall[Token]:
    """Return the call that gives or takes a token's right to submit code."""
    content = strict_json.dumps({"submit_code": submit_code}).encode()
    path = _token_path(token_id)
    return APICall("PATCH", path, _token, headers=JSON_CONTENT, content=content)


def revoke_token(token_id: str) -> APICall[None]:
    """Return the call that revokes a token."""
    return APICall("DELETE", _token_path(token_id), lambda response: None)


def create_sign_in_code() -> APICall[str]:
    """Return the call that creates a code which signs a browser in."""

    def read(response: httpx.Response) -> str:
        return str(object_in(response)["code"])

    return APICall("POST", "/v1/sign-in-codes", read)


def create_join_token(labels: Mapping[str, str], uses: int, seconds: int) -> APICall[JoinToken]:
    """Return the call that creates a join token."""

    def read(response: httpx.Response) -> JoinToken:
        return JoinToken.from_json(object_in(response))

    body = {"labels": dict(labels), "uses": uses, "seconds": seconds}
    content = strict_json.dumps(body).encode()
    return APICall("POST", "/v1/join-tokens", read, headers=JSON_CONTENT, content=content)


def join_tokens() -> APICall[list[JoinToken]]:
    """Return the call that lists the join tokens that can still be used."""

    def read(response: httpx.Response) -> list[JoinToken]:
        return [JoinToken.from_json({"about": item}) for item in object_in(response)["join_tokens"]]

    return APICall("GET", "/v1/join-tokens", read)


def revoke_join_token(token_id: str) -> APICall[None]:
    """Return the call that revokes a join token."""
    if not ID.fullmatch(token_id):
        raise NotFound(f"there is no join token {token_id[:100]!r}")
    return APICall("DELETE", f"/v1/join-tokens/{token_id}", lambda response: None)


def agents() -> APICall[list[AgentStatus]]:
    """Return the call that lists the agents."""

    def read(response: httpx.Response) -> list[AgentStatus]:
        return [AgentStatus.from_json(item) for item in object_in(response)["agents"]]

    return APICall("GET", "/v1/agents", read)


def devices() -> APICall[list[DeviceStatus]]:
    """Return the call that lists the devices of all agents."""

    def read(response: httpx.Response) -> list[DeviceStatus]:
        return [DeviceStatus.from_json(item) for item in object_in(response)["devices"]]

    return APICall("GET", "/v1/devices", read)


def drain_agent(name: str, seconds: int | None) -> APICall[AgentStatus]:
    """Return the call that drains an agent."""
    content = strict_json.dumps({"seconds": seconds}).encode()
    path = f"{_agent_path(name)}:drain"
    return APICall("POST", path, _agent, headers=JSON_CONTENT, content=content)


def resume_agent(name: str) -> APICall[AgentStatus]:
    """Return the call that ends the drain of an agent."""
    return APICall("POST", f"{_agent_path(name)}:resume", _agent)


def remove_agent(name: str) -> APICall[None]:
    """Return the call that removes an agent."""
    return APICall("DELETE", _agent_path(name), lambda response: None)


def _token(response: httpx.Response) -> Token:
    return Token.from_json(object_in(response))


def _token_path(token_id: str) -> str:
    # The id becomes a part of a path, where dots and slashes have a meaning.
    if not ID.fullmatch(token_id):
        raise NotFound(f"there is no token {token_id[:100]!r}")
    return f"/v1/tokens/{token_id}"


def _agent(response: httpx.Response) -> AgentStatus:
    return AgentStatus.from_json(object_in(response))


def _agent_path(name: str) -> str:
    if name in ("", ".", ".."):  # these have a meaning in a path
        raise NotFound(f"there is no agent {name!r}")
    return f"/v1/agents/{quote(name, safe='')}"

"""The calls of the HTTP API about tokens, people, projects, webhooks and agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from ipulse.client.transport.api_call import JSON_CONTENT, APICall, object_in
from ipulse_core import strict_json
from ipulse_core.errors import NotFound
from ipulse_core.messages import ID

from .resources import (
    AgentStatus,
    AuditPage,
    BrowserSession,
    CallerRights,
    Delivery,
    DeviceStatus,
    JoinToken,
    Pool,
    Project,
    QuotaLimit,
    Reservation,
    Token,
    UsedTime,
    User,
    Webhook,
)

_Resource = TypeVar("_Resource")


def create_token(
    name: str,
    role: str | None,
    seconds: int,
    submit_code: bool,
    user: str | None = None,
    scopes: Sequence[str] | None = None,
    project: str | None = None,
) -> APICall[Token]:
    """Return the call that creates a token."""

    def read(response: httpx.Response) -> Token:
        value = object_in(response)
        return Token.from_json(value["about"], value["token"])

    given = {
        "role": role,
        "user": user,
        "scopes": None if scopes is None else list(scopes),
        "project": project,
        "submit_code": submit_code or None,  # services before 0.2 do not know it
    }
    body = {"name": name, "seconds": seconds, **_given(given)}
    return APICall("POST", "/v1/tokens", read, **_json(body))


def tokens() -> APICall[list[Token]]:
    """Return the call that lists the tokens."""
    return APICall("GET", "/v1/tokens", _list("tokens", Token.from_json))


def change_token(token_id: str, submit_code: bool) -> APICall[Token]:
    """Return the call that gives or takes a token's right to submit code."""
    body = {"submit_code": submit_code}
    return APICall("PATCH", _token_path(token_id), _one(Token.from_json), **_json(body))


def revoke_token(token_id: str) -> APICall[None]:
    """Return the call that revokes a token."""
    return APICall("DELETE", _token_path(token_id), lambda response: None)


def caller_rights() -> APICall[CallerRights]:
    """Return the call that asks what the token's owner may do."""
    return APICall("GET", "/v1/me", _one(CallerRights.from_json))


def projects() -> APICall[list[Project]]:
    """Return the call that lists the projects that the caller may read."""
    return APICall("GET", "/v1/projects", _list("projects", Project.from_json))


def project(name: str) -> APICall[Project]:
    """Return the call that reads a project with its members."""
    return APICall("GET", _project_path(name), _one(Project.from_json))


def create_project(name: str, description: str, is_public: bool) -> APICall[Project]:
    """Return the call that creates a project."""
    body = {"name": name, "description": description, "is_public": is_public}
    return APICall("POST", "/v1/projects", _one(Project.from_json), **_json(body))


def change_project(name: str, **changes: str | bool | None) -> APICall[Project]:
    """Return the call that changes a project."""
    return APICall("PATCH", _project_path(name), _one(Project.from_json), **_json(_given(changes)))


def set_member(project: str, user: str, role: str) -> APICall[None]:
    """Return the call that gives somebody a role in a project."""
    body = {"role": role}
    return APICall("PUT", _member_path(project, user), lambda response: None, **_json(body))


def remove_member(project: str, user: str) -> APICall[None]:
    """Return the call that removes somebody from a project."""
    return APICall("DELETE", _member_path(project, user), lambda response: None)


def quotas(project: str | None, user: str | None) -> APICall[list[QuotaLimit]]:
    """Return the call that lists the quotas of a project, or of a person in all projects."""
    path = _quotas_path(project, user)
    return APICall("GET", path, _list("quotas", QuotaLimit.from_json))


def set_quotas(
    project: str | None, user: str | None, limits: Mapping[str, int | None]
) -> APICall[list[QuotaLimit]]:
    """Return the call that changes quotas."""
    body: dict[str, object] = {"limits": dict(limits)}
    if project is not None and user is not None:
        body["user"] = user
    path = _quotas_path(project, user)
    return APICall("PATCH", path, _list("quotas", QuotaLimit.from_json), **_json(body))


def usage(by: Sequence[str], first: str | None, last: str | None) -> APICall[list[UsedTime]]:
    """Return the call that reads used device time."""
    query = {"by": list(by) or None, "first": first, "last": last}
    return APICall("GET", "/v1/usage", _list("usage", UsedTime.from_json), params=_given(query))


def pools() -> APICall[list[Pool]]:
    """Return the call that lists pools."""
    return APICall("GET", "/v1/pools", _list("pools", Pool.from_json))


def create_pool(name: str, content: Mapping[str, object]) -> APICall[Pool]:
    """Return the call that creates a pool."""
    return APICall("POST", "/v1/pools", _one(Pool.from_json), **_json({"name": name, **content}))


def change_pool(name: str, content: Mapping[str, object]) -> APICall[Pool]:
    """Return the call that changes a pool."""
    return APICall("PATCH", _pool_path(name), _one(Pool.from_json), **_json(content))


def delete_pool(name: str) -> APICall[None]:
    """Return the call that deletes a pool."""
    return APICall("DELETE", _pool_path(name), lambda response: None)


def reservations() -> APICall[list[Reservation]]:
    """Return the call that lists reservations."""
    return APICall("GET", "/v1/reservations", _list("reservations", Reservation.from_json))


def reserve(pool: str, body: Mapping[str, object]) -> APICall[Reservation]:
    """Return the call that reserves workers of a pool."""
    path = f"{_pool_path(pool)}/reservations"
    return APICall("POST", path, _one(Reservation.from_json), **_json(body))


def end_reservation(reservation_id: str) -> APICall[None]:
    """Return the call that ends a reservation."""
    path = f"/v1/reservations/{_path_part(reservation_id, 'reservation')}"
    return APICall("DELETE", path, lambda response: None)


def users() -> APICall[list[User]]:
    """Return the call that lists people and service accounts."""
    return APICall("GET", "/v1/users", _list("users", User.from_json))


def user(name: str) -> APICall[User]:
    """Return the call that reads a person or a service account."""
    return APICall("GET", _user_path(name), _one(User.from_json))


def create_user(name: str, full_name: str, is_admin: bool) -> APICall[User]:
    """Return the call that adds a person."""
    body = {"name": name, "full_name": full_name, "is_admin": is_admin}
    return APICall("POST", "/v1/users", _one(User.from_json), **_json(body))


def change_user(name: str, **changes: str | bool | None) -> APICall[User]:
    """Return the call that changes a person or a service account."""
    return APICall("PATCH", _user_path(name), _one(User.from_json), **_json(_given(changes)))


def audit_log(
    after: int, limit: int, actor: str | None, action: str | None, target: str | None
) -> APICall[AuditPage]:
    """Return the call that reads a page of the audit log."""

    def read(response: httpx.Response) -> AuditPage:
        value = object_in(response)
        return AuditPage(value["entries"], value["next_after"], value["end"])

    query = {"after": after, "limit": limit, "actor": actor, "action": action, "target": target}
    return APICall("GET", "/v1/audit", read, params=_given(query))


def sessions() -> APICall[list[BrowserSession]]:
    """Return the call that lists the caller's sessions."""
    return APICall("GET", "/v1/sessions", _list("sessions", BrowserSession.from_json))


def end_sessions(session_id: str | None) -> APICall[None]:
    """Return the call that ends one of the caller's sessions, or all of them."""
    path = "/v1/sessions"
    if session_id is not None:
        path += f"/{_path_part(session_id, 'session')}"
    return APICall("DELETE", path, lambda response: None)


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
    return APICall("POST", "/v1/join-tokens", read, **_json(body))


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


def create_webhook(
    url: str, name: str, form: str | None, types: Sequence[str] | None
) -> APICall[Webhook]:
    """Return the call that creates a webhook."""

    def read(response: httpx.Response) -> Webhook:
        value = object_in(response)
        return Webhook.from_json(value["about"], value["secret"])

    given = {"format": form, "types": None if types is None else list(types)}
    body = {"url": url, "name": name, **_given(given)}
    return APICall("POST", "/v1/webhooks", read, **_json(body))


def webhooks() -> APICall[list[Webhook]]:
    """Return the call that lists the webhooks."""
    return APICall("GET", "/v1/webhooks", _list("webhooks", Webhook.from_json))


def deliveries(webhook_id: str) -> APICall[list[Delivery]]:
    """Return the call that lists the latest messages to a webhook."""
    path = f"{_webhook_path(webhook_id)}/deliveries"
    return APICall("GET", path, _list("deliveries", Delivery.from_json))


def check_webhook(webhook_id: str) -> APICall[Webhook]:
    """Return the call that sends a test to a webhook."""
    return APICall("POST", f"{_webhook_path(webhook_id)}:test", _one(Webhook.from_json))


def delete_webhook(webhook_id: str) -> APICall[None]:
    """Return the call that deletes a webhook."""
    return APICall("DELETE", _webhook_path(webhook_id), lambda response: None)


def agents() -> APICall[list[AgentStatus]]:
    """Return the call that lists the agents."""
    return APICall("GET", "/v1/agents", _list("agents", AgentStatus.from_json))


def devices() -> APICall[list[DeviceStatus]]:
    """Return the call that lists the devices of all agents."""
    return APICall("GET", "/v1/devices", _list("devices", DeviceStatus.from_json))


def drain_agent(name: str, seconds: int | None) -> APICall[AgentStatus]:
    """Return the call that drains an agent."""
    path = f"{_agent_path(name)}:drain"
    return APICall("POST", path, _one(AgentStatus.from_json), **_json({"seconds": seconds}))


def resume_agent(name: str) -> APICall[AgentStatus]:
    """Return the call that ends the drain of an agent."""
    return APICall("POST", f"{_agent_path(name)}:resume", _one(AgentStatus.from_json))


def remove_agent(name: str) -> APICall[None]:
    """Return the call that removes an agent."""
    return APICall("DELETE", _agent_path(name), lambda response: None)


def _one(read: Callable[[dict[str, Any]], _Resource]) -> Callable[[httpx.Response], _Resource]:
    """Return what reads a resource from a response."""
    return lambda response: read(object_in(response))


def _list(
    name: str, read: Callable[[dict[str, Any]], _Resource]
) -> Callable[[httpx.Response], list[_Resource]]:
    """Return what reads the resources that a response lists under a name."""
    return lambda response: [read(item) for item in object_in(response)[name]]


def _json(body: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call with a JSON object as its body."""
    return {"headers": JSON_CONTENT, "content": strict_json.dumps(body).encode()}


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _project_path(name: str) -> str:
    return f"/v1/projects/{_path_part(name, 'project')}"


def _pool_path(name: str) -> str:
    return f"/v1/pools/{_path_part(name, 'pool')}"


def _member_path(project: str, user: str) -> str:
    return f"{_project_path(project)}/members/{_path_part(user, 'user')}"


def _quotas_path(project: str | None, user: str | None) -> str:
    if project is not None:
        return f"{_project_path(project)}/quotas"
    return f"{_user_path(user or '')}/quotas"


def _user_path(name: str) -> str:
    return f"/v1/users/{_path_part(name, 'user')}"


def _webhook_path(webhook_id: str) -> str:
    return f"/v1/webhooks/{_path_part(webhook_id, 'webhook')}"


def _path_part(name: str, what: str) -> str:
    if name in ("", ".", ".."):  # these have a meaning in a path
        raise NotFound(f"there is no {what} {name!r}")
    return quote(name, safe="")


def _token_path(token_id: str) -> str:
    # The id becomes a part of a path, where dots and slashes have a meaning.
    if not ID.fullmatch(token_id):
        raise NotFound(f"there is no token {token_id[:100]!r}")
    return f"/v1/tokens/{token_id}"


def _agent_path(name: str) -> str:
    return f"/v1/agents/{_path_part(name, 'agent')}"

"""Writes the reference page of the HTTP API from the OpenAPI document."""

from __future__ import annotations

import json
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ipulse_service.http import problems
from ipulse_service.http.app import create_app
from ipulse_service.settings import Settings

_HEAD = """\
# HTTP API

A running service serves its OpenAPI document at `/openapi.json`. Browsers display it at `/docs`
(Swagger UI, which can also send requests) and at `/redoc` (ReDoc); both pages ask for a token.

Every request carries `Authorization: Bearer TOKEN`, except those for `/healthz`, `/readyz` and the
files of the web pages. Errors are `application/problem+json` (RFC 9457): `code` is stable, each of
`errors` has the JSON pointer of its place, and `request_id` finds the request in the service's log.
Every route may answer 400, 401, 403, 429, 500 and 503, which are not listed below; 429 and 503 come
with `Retry-After`. [The spec](spec.md) has a page of its own;
[Give others access](../guides/tokens.md) describes tokens and roles."""

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_PROBLEM = "application/problem+json"
_COMMON = tuple(str(status) for status in problems.COMMON)


class _Operation(NamedTuple):
    method: str
    path: str
    content: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.method.upper()} {self.path}"


def document() -> dict[str, Any]:
    """Returns the OpenAPI document of a service with default settings."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "token").write_text(secrets.token_urlsafe(32))
        return create_app(Settings(home=home)).openapi()


def api_page() -> str:
    """Returns the page as Markdown: a table of all operations, and a section for each of them."""
    described = document()
    operations = [
        _Operation(method, path, item[method])
        for path, item in described["paths"].items()
        for method in _METHODS
        if method in item
    ]
    rows = [
        (f"[`{operation.title}`](#{_anchor(operation.title)})", operation.content["summary"])
        for operation in operations
    ]
    schemas = described["components"]["schemas"]
    sections = [line for operation in operations for line in _section(schemas, operation)]
    return "\n".join([_HEAD, "", *_table(("Request", "Purpose"), rows), "", *sections])


def _section(schemas: dict[str, Any], operation: _Operation) -> Iterator[str]:
    content = operation.content
    yield f"## {operation.title}"
    yield ""
    yield content["description"]
    yield ""
    if parameters := content.get("parameters"):
        yield from _table(("Parameter", "In", "Type", "Description"), map(_parameter, parameters))
        yield ""
    for media_type, body in content.get("requestBody", {}).get("content", {}).items():
        yield f"Body: `{media_type}`{_schema_name(body)}."
        yield ""
        yield from _examples(schemas, body)
    responses = sorted(content["responses"].items())
    specific = [(status, body) for status, body in responses if status not in _COMMON]
    yield from _table(("Status", "Meaning", "Body"), map(_response, specific))
    yield ""
    for _, response in responses:
        for media_type, body in response.get("content", {}).items():
            if media_type != _PROBLEM:
                yield from _examples(schemas, body)


def _parameter(parameter: dict[str, Any]) -> tuple[str, ...]:
    schema = parameter["schema"]
    required = " (required)" if parameter.get("required") else ""
    text = parameter.get("description") or schema.get("description", "")
    return f"`{parameter['name']}`{required}", parameter["in"], _type(schema), text


def _response(item: tuple[str, dict[str, Any]]) -> tuple[str, ...]:
    status, response = item
    bodies = response.get("content", {}).items()
    kinds = [f"`{media_type}`{_schema_name(body)}" for media_type, body in bodies]
    return status, response.get("description", ""), ", ".join(kinds)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _examples(schemas: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
    for example in schemas.get(name, {}).get("examples", []):
        yield "```json"
        yield json.dumps(example, indent=2)
        yield "```"
        yield ""


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _schema_name(body: dict[str, Any]) -> str:
    name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return f" ({name})" if name else ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_type(choice) for choice in schema["anyOf"])
    if schema.get("type") == "array":
        return f"array of {_type(schema['items'])}"
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    bounds = [
        f"{sign} {schema[name]:,}"
        for name, sign in (("minimum", "≥"), ("maximum", "≤"))
        if name in schema
    ]
    return " ".join([str(schema.get("type", "any")), *bounds])

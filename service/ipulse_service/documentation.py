"""Writes http.md from the OpenAPI document: `python -m ipulse_service.documentation [FOLDER]`."""

from __future__ import annotations

import json
import re
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ipulse_service.http.app import create_app
from ipulse_service.settings import Settings

_HEAD = """\
# The HTTP interface

Written by `make docs` from the OpenAPI document, which a running service gives at `/openapi.json`;
to change this page, change `service/ipulse_service/http/routes/` there.

Every request but those for `/healthz`, `/readyz` and the files of the page at `/` carries
`Authorization: Bearer TOKEN`. Errors are `application/problem+json`: `code` is stable, `errors`
names each place by its JSON pointer, `request_id` finds the request in the service's log. A
status of 429 or 503 comes with `Retry-After`. The spec is described in [spec.md](spec.md), tokens
and roles in [the guide for operators](../guides/operate.md#who-may-do-what)."""

_METHODS = ("get", "head", "post", "put", "patch", "delete")


def document() -> dict[str, Any]:
    """The OpenAPI document of a service with every setting at its default."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("token", "worker-token"):
            (home / name).write_text(secrets.token_urlsafe(32))
        app = create_app(Settings(home=home))
        found: dict[str, Any] = app.openapi()
    return found


def api_page() -> str:
    """The page as Markdown: a table of all operations, then each of them."""
    described = document()
    operations = [
        (method, path, item[method])
        for path, item in described["paths"].items()
        for method in _METHODS
        if method in item
    ]
    table = ["| request | what it does |", "| --- | --- |"]
    for method, path, operation in operations:
        title = _title(method, path)
        table.append(f"| [`{title}`](#{_anchor(title)}) | {_first_line(operation)} |")
    schemas = described["components"]["schemas"]
    sections = [line for operation in operations for line in _section(schemas, *operation)]
    return "\n".join([_HEAD, "", *table, "", *sections])


def _section(
    schemas: dict[str, Any], method: str, path: str, operation: dict[str, Any]
) -> Iterator[str]:
    yield f"## {_title(method, path)}"
    yield ""
    yield operation.get("description") or _first_line(operation)
    yield ""
    parameters = operation.get("parameters", [])
    if parameters:
        yield "| parameter | in | type | |"
        yield "| --- | --- | --- | --- |"
        for one in parameters:
            text = one.get("description") or one["schema"].get("description", "")
            required = " (required)" if one.get("required") else ""
            cells = [f"`{one['name']}`{required}", one["in"], _type(one["schema"]), text]
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body: `{media_type}`{_named(content)}."
        yield ""
        if "schema" in content:
            yield from _example(schemas, content)
    answers = []
    for status, response in operation["responses"].items():
        kinds = [f"`{kind}`{_named(body)}" for kind, body in response.get("content", {}).items()]
        answers.append(f"{status}{': ' if kinds else ''}{', '.join(kinds)}")
    yield "Answers: " + "; ".join(answers) + "."
    yield ""


def _example(schemas: dict[str, Any], content: dict[str, Any]) -> Iterator[str]:
    """Yields the example of a body, if its schema has one."""
    name = content["schema"].get("$ref", "").rpartition("/")[2]
    for example in schemas.get(name, {}).get("examples", []):
        yield "```json"
        yield json.dumps(example, indent=2)
        yield "```"
        yield ""


def _title(method: str, path: str) -> str:
    return f"{method.upper()} {path}"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _first_line(operation: dict[str, Any]) -> str:
    lines = str(operation.get("description") or operation.get("summary", "")).splitlines()
    return lines[0] if lines else ""


def _named(content: dict[str, Any]) -> str:
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return f" ({name})" if name else ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
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

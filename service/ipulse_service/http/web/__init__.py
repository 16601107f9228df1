"""The web page: files that a browser needs to be a client of the HTTP interface, and no data.

They answer without a token. What the page shows, its scripts ask for with the token of whoever
looks at it, at the same routes as every other client.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request, Response

from ipulse_core.errors import NotFound
from ipulse_service.http import etags

_FILES = Path(__file__).parent / "static"
_PAGES = {"/": "index.html", "/report": "report.html"}
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_NEVER = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    f"connect-src 'self'; {_NEVER}"
)
# A frame's text is bound by its page's policy, and reports bring their styles with them.
_REPORT_POLICY = _POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


@dataclass(frozen=True)
class File:
    """A file as it is answered."""

    content: bytes
    digest: str  # SHA-256
    headers: dict[str, str]


def _read(path: Path) -> File:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    policy = _REPORT_POLICY if path.name == _PAGES["/report"] else _POLICY
    headers = {
        "content-type": _MEDIA_TYPES[path.suffix],
        "cache-control": "no-cache",  # asked for again, and answered with 304
        "etag": etags.quoted(digest),
        "content-security-policy": policy,
    }
    return File(content, digest, headers)


# Every path that there is; nothing is made from a path that was asked for.
FILES = {f"/web/{path.name}": _read(path) for path in sorted(_FILES.iterdir())}
FILES.update({path: FILES[f"/web/{name}"] for path, name in _PAGES.items()})

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
@router.api_route("/report", methods=["GET", "HEAD"])
@router.api_route("/web/{name}", methods=["GET", "HEAD"])
async def file(request: Request) -> Response:
    """A file of the page."""
    found = FILES.get(request.scope["path"])
    if found is None:
        raise NotFound("the page has no such file")
    if etags.matches(request.headers.get("if-none-match"), found.digest):
        return Response(status_code=304, headers=found.headers)
    return Response(found.content, headers=found.headers)

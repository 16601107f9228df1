"""The files of the web page and of the pages that display the OpenAPI document.

They contain no data and need no token. Their scripts call the same routes as every other client,
with the token of the person who opened the page.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request, Response

from ipulse_core.errors import NotFound
from ipulse_service.http import etags

_FOLDER = Path(__file__).parent
_PAGES = {
    "/": "index.html",
    "/report": "report.html",
    "/docs": "docs.html",
    "/redoc": "redoc.html",
}
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
_INLINE_STYLES = "style-src 'self' 'unsafe-inline'"
_POLICY_OF = {
    # A frame's document is bound by its page's policy, and a report contains its styles.
    "report.html": _POLICY.replace("style-src 'self'", _INLINE_STYLES),
    "docs.html": _POLICY.replace("img-src 'self'", "img-src 'self' data:"),
    # ReDoc makes its style sheet with a script.
    "redoc.html": _POLICY.replace("style-src 'self'", _INLINE_STYLES).replace(
        "img-src 'self'", "img-src 'self' data:"
    ),
}


@dataclass(frozen=True)
class File:
    """A file and the headers that it is sent with."""

    content: bytes
    digest: str  # SHA-256
    headers: dict[str, str]


def _read(path: Path) -> File:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    headers = {
        "content-type": _MEDIA_TYPES[path.suffix],
        "cache-control": "no-cache",  # browsers ask again and get 304
        "etag": etags.quoted(digest),
        "content-security-policy": _POLICY_OF.get(path.name, _POLICY),
    }
    return File(content, digest, headers)


def _folder(name: str, prefix: str) -> dict[str, File]:
    paths = sorted((_FOLDER / name).iterdir())
    return {prefix + path.name: _read(path) for path in paths if path.suffix in _MEDIA_TYPES}


# All paths that are answered; no path is made from a request.
FILES = {**_folder("static", "/web/"), **_folder("vendor", "/web/vendor/")}
FILES.update({path: FILES[f"/web/{name}"] for path, name in _PAGES.items()})

router = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/report")
@router.get("/docs")
@router.get("/redoc")
@router.get("/web/{name:path}")
async def get_file(request: Request) -> Response:
    """Returns a file of the web page."""
    file = FILES.get(request.scope["path"])
    if file is None:
        raise NotFound("the web page has no such file")
    if etags.matches(request.headers.get("if-none-match"), file.digest):
        return Response(status_code=304, headers=file.headers)
    return Response(file.content, headers=file.headers)

"""The files of the web page and of the pages that display the OpenAPI document.

They contain no data and need no token. Their scripts call the same routes as every other client,
with the session of the person who opened the page. All files are also served below the digest of
their contents, where browsers may keep them for ever: an update has another digest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.types import Scope

from ipulse_core.errors import NotFound
from ipulse_service.http import etags
from ipulse_service.http.web.preloads import Preloads

_FOLDER = Path(__file__).parent
_PAGES = {
    "/": "index.html",
    "/docs": "docs.html",
    "/redoc": "redoc.html",
}
# Addresses of the page's views; all are answered with the same document.
VIEWS = (
    "/jobs",
    "/jobs/{name}",
    "/jobs/{name}/{tab}",
    "/compare",
    "/sweeps",
    "/sweeps/{name}",
    "/datasets",
    "/datasets/{name}",
    "/datasets/{name}/{tab}",
    "/ops",
    "/devices",
    "/new",
    "/settings/tokens",
    "/settings/webhooks",
    "/settings/people",
    "/settings/projects",
    "/settings/usage",
    "/settings/projects/{name}",
    "/settings/sessions",
    "/profiles/diff",
    "/login",
    "/device",
)
_VIEW = re.compile("|".join(re.sub(r"\{\w+\}", "[^/]+", view) for view in VIEWS))
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_INLINE_STYLES = "style-src 'self' 'unsafe-inline'"
_POLICY_OF = {
    # ReDoc makes its style sheet with a script.
    "redoc.html": _POLICY.replace("style-src 'self'", _INLINE_STYLES),
}
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class File:
    """A file and the headers that it is sent with."""

    content: bytes
    digest: str  # SHA-256
    headers: dict[str, str]

    def kept(self) -> File:
        """Returns the file as it is sent from an address that no other content ever has."""
        return replace(self, headers={**self.headers, "cache-control": _FOR_EVER})


def _read(path: Path, root: str = "", modules: Iterable[str] = (), up: str = "") -> File:
    """Reads a file; `up` leads from a document's address to the root of the page."""
    content = path.read_bytes()
    if path.suffix == ".html":
        root = root.removeprefix("/")
        links = (f'<link rel="modulepreload" href="{up}{root}/{name}">' for name in modules)
        content = content.replace(b"{{modules}}", "\n".join(links).encode())
        content = content.replace(b"{{root}}", root.encode()).replace(b"{{up}}", up.encode())
    digest = hashlib.sha256(content).hexdigest()
    headers = {
        "content-type": _MEDIA_TYPES[path.suffix],
        "cache-control": "no-cache",  # browsers ask again and get 304
        "etag": etags.quoted(digest),
        "content-security-policy": _POLICY_OF.get(path.name, _POLICY),
    }
    return File(content, digest, headers)


def _files() -> tuple[str, dict[str, File]]:
    """Returns the address of the digest, and all paths that are answered."""
    paths = {
        path.relative_to(_FOLDER).as_posix(): path
        for name in ("static", "vendor")
        for path in sorted((_FOLDER / name).rglob("*"))
        if path.suffix in _MEDIA_TYPES
    }
    whole = hashlib.sha256()
    for name, path in paths.items():
        whole.update(f"{name}\0{path.stat().st_size}\0".encode())
        whole.update(path.read_bytes())
    root = f"/web/{whole.hexdigest()[:16]}"
    files = {}
    for name, path in paths.items():
        file = _read(path, root)
        if path.suffix != ".html":
            files[f"{root}/{name}"] = file.kept()
        folder, _, rest = name.partition("/")
        if folder == "vendor" or "/" not in rest:  # the older addresses
            files[f"/web/{rest}" if folder == "static" else f"/web/{name}"] = file
    files.update({path: files[f"/web/{name}"] for path, name in _PAGES.items()})
    return root, files


# All paths that are answered; no path is made from a request.
ROOT, FILES = _files()
_PRELOADS = Preloads(
    {
        path.relative_to(_FOLDER).as_posix(): path.read_text("utf-8")
        for folder in ("static", "vendor/bundles")
        for path in (_FOLDER / folder).rglob("*.js")
    }
)

router = APIRouter(include_in_schema=False)


def is_view(path: str) -> bool:
    """Returns whether a path is the address of a view of the page."""
    return _VIEW.fullmatch(path) is not None


@router.get("/docs")
@router.get("/redoc")
@router.get("/web/{name:path}")
async def get_file(request: Request) -> Response:
    """Returns a file of the web page."""
    return _respond(request, FILES.get(request.scope["path"]))


async def get_view(request: Request) -> Response:
    """Returns the page, which shows the view that the address names."""
    modules = _PRELOADS.of_view(request.scope["path"])
    return _respond(request, page_at(request.scope, modules))


def page_at(scope: Scope, modules: Sequence[str] = ()) -> File:
    """Returns the page for an address, with links to modules."""
    return _document(tuple(modules), "../" * (scope["raw_path"].count(b"/") - 1))


@lru_cache(256)
def _document(modules: tuple[str, ...], up: str) -> File:
    """Returns the page with links to the modules of a view, relative to its address."""
    return _read(_FOLDER / "static" / "index.html", ROOT, modules, up)


for _view in ("/", *VIEWS):
    router.add_api_route(_view, get_view, name=f"view {_view}")


def _respond(request: Request, file: File | None) -> Response:
    if file is None:
        raise NotFound("the web page has no such file")
    if etags.matches(request.headers.get("if-none-match"), file.digest):
        return Response(status_code=304, headers=file.headers)
    return Response(file.content, headers=file.headers)

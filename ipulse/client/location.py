"""The address of the service and its token.

They come from arguments, else from the environment (IPULSE_URL, IPULSE_TOKEN, IPULSE_TOKEN_FILE,
IPULSE_CA), else from ipulse.toml in the working directory or above it, else from `ipulse login`,
else from the home of `ipulse up` (IPULSE_HOME, or ~/.local/state/ipulse).
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Union
from urllib.parse import urlsplit

from ipulse.stack import tls
from ipulse.stack.home import REACHED_AS, Home, home_folder
from ipulse.stack.listening import is_loopback
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, InvalidJSON, NotAuthenticated, Problem, Unavailable

from .login_file import Login, find_login, login_path
from .project_file import ProjectFile, find_project_file
from .project_trust import require_trust

PathLike = Union[str, "os.PathLike[str]"]

# Addresses that `httpx.URL` accepts as they are; to import it takes 0.2 s.
_PLAIN_URL = re.compile(r"https?://[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*(:[1-9][0-9]{1,4})?/?")
_LOCAL_URL = re.compile(r"https?://127\.0\.0\.1(:[1-9][0-9]{1,4})?/?")
_TOKEN = re.compile(r"[\x21-\x7e]+")  # characters that a header may contain


@dataclass(frozen=True)
class ServiceLocation:
    """The address of a service and the token for it, which `repr` does not show."""

    url: str
    token: str = field(repr=False)
    # How to verify the service; None: by the machine's own authorities.
    trust: ssl.SSLContext | None = field(default=None, repr=False)
    # True if its address comes from the home of `ipulse up`.
    is_at_home: bool = field(default=False, compare=False)
    # Where address and token come from, for people.
    url_from: str = field(default="", repr=False, compare=False)
    token_from: str = field(default="", repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        """True if the service runs on this machine, so that no proxy is used."""
        return self.is_at_home or is_local_url(self.url)


def find_service(
    url: str | None = None,
    token: str | None = None,
    token_file: PathLike | None = None,
    home: PathLike | None = None,
    environment: Mapping[str, str] | None = None,
    ca: PathLike | None = None,
) -> ServiceLocation:
    """Find the service.

    Args:
        url: Its address.
        token: The token.
        token_file: A file with the token.
        home: The home of a local stack.
        environment: Variables to use instead of `os.environ`.
        ca: A PEM file with the service's authority or certificate.

    Raises Unavailable if no service is known, NotAuthenticated if there is no token for it,
    UntrustedProject for an ipulse.toml that others could write, and InvalidInput for an invalid
    address or authority.
    """
    variables = os.environ if environment is None else environment
    at_home = Home(home_folder(home, variables))
    remote, url_from = url or variables.get("IPULSE_URL"), "--url" if url else "IPULSE_URL"
    may_be_elsewhere = home is None and "IPULSE_HOME" not in variables
    project = find_project_file() if may_be_elsewhere and not remote else None
    if project is not None and project.url:
        trust = require_trust(replace(project, ca=None) if ca else project, variables)
        return _of_project(project, token, token_file, _trust(ca, None) or trust)
    login = find_login(variables) if may_be_elsewhere else None
    if login is not None and (not remote or checked_address(remote) == login.url):
        given = token or _read(token_file) or variables.get("IPULSE_TOKEN")
        given = given or _read(variables.get("IPULSE_TOKEN_FILE"))
        if not remote or given is None:
            return _of_login(
                login, url_from if remote else "", token or _read(token_file), ca, variables
            )
    address = checked_address(remote or _url_at(at_home))
    secret, token_from = token or _read(token_file), "--token-file"
    if secret is None and variables.get("IPULSE_TOKEN"):
        secret, token_from = variables["IPULSE_TOKEN"], "IPULSE_TOKEN"
    if secret is None:
        secret, token_from = _read(variables.get("IPULSE_TOKEN_FILE")), "IPULSE_TOKEN_FILE"
    # The token of the local stack is sent to no address but its own.
    if secret is None and (not remote or is_local_url(address)):
        secret, token_from = _read(at_home.token_file, optional=True), str(at_home.token_file)
    trust = _trust(ca or variables.get("IPULSE_CA"), None if remote else at_home)
    return ServiceLocation(
        address,
        _checked_token(secret, address),
        trust,
        is_at_home=not remote,
        url_from=url_from if remote else str(at_home.server_file),
        token_from=token_from,
    )


def _of_project(
    project: ProjectFile,
    token: str | None,
    token_file: PathLike | None,
    trust: ssl.SSLContext | None,
) -> ServiceLocation:
    """Find the service of a project; no token of the environment is sent to it."""
    address = checked_address(project.url or "")
    secret, token_from = token or _read(token_file), "--token-file"
    if secret is None:
        secret, token_from = _read(project.token_file), str(project.token_file)
    if secret is None:
        raise NotAuthenticated(
            f"no token for {address}, which {project.path} names: set token_file there, or set "
            "IPULSE_URL and IPULSE_TOKEN_FILE"
        )
    return ServiceLocation(
        address,
        _checked_token(secret, address),
        trust,
        url_from=str(project.path),
        token_from=token_from,
    )


def _of_login(
    login: Login,
    url_from: str,
    token: str | None,
    ca: PathLike | None,
    variables: Mapping[str, str],
) -> ServiceLocation:
    """Return the service of `ipulse login`; no token of the environment is sent to it."""
    address = checked_address(login.url)
    place = str(login_path(variables))
    return ServiceLocation(
        address,
        _checked_token(token or login.token, address),
        _trust(ca or login.ca, None),
        url_from=url_from or place,
        token_from="--token-file" if token else place,
    )


def _checked_token(secret: str | None, address: str) -> str:
    if secret is None:
        raise NotAuthenticated(
            f"no token for {address}: set IPULSE_TOKEN_FILE to the token file of that service"
        )
    if not secret:
        raise NotAuthenticated("the token is empty; is its file the right one?")
    if not _TOKEN.fullmatch(secret):
        raise NotAuthenticated(
            "the token contains characters that are not allowed; is its file the right one?"
        )
    return secret


def _trust(ca: PathLike | None, home: Home | None) -> ssl.SSLContext | None:
    if ca:
        return tls.authorities(ca)
    if home is not None and home.certificate_file.exists():
        return tls.pinned(home.certificate_file)
    return None


def _url_at(home: Home) -> str:
    try:
        value: Any = strict_json.loads(home.server_file.read_bytes())
        url = str(value["url"])
        for listened, reached in REACHED_AS.items():  # an IPv6 address is in brackets
            url = re.sub(rf"//(\[?){re.escape(listened)}(\]?:)", rf"//\g<1>{reached}\2", url)
        return url
    except FileNotFoundError:
        raise Unavailable(
            f"no service is known in {home.path}: start one with `ipulse up`, "
            "or set IPULSE_URL to the address of one that runs elsewhere"
        ) from None
    except (OSError, InvalidJSON, KeyError, TypeError) as error:
        raise Unavailable(
            f"{home.server_file} does not contain the address of the service "
            f"({type(error).__name__}): start it again with `ipulse up`"
        ) from error


def checked_address(url: str) -> str:
    """Return the address of a service. Raises InvalidInput for a text that is none."""
    if any(plain.fullmatch(url) for plain in (_LOCAL_URL, _PLAIN_URL)) and not _has_usual_port(url):
        return url.rstrip("/")
    import httpx

    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _bad_url("the service's address must look like http://127.0.0.1:8470")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise _bad_url("the service's address must not contain a user, query or fragment")
    return str(parsed).rstrip("/")


def _has_usual_port(url: str) -> bool:
    return url.rstrip("/").endswith((":80", ":443"))


def _bad_url(detail: str) -> InvalidInput:
    return InvalidInput([Problem("", "invalid_url", detail)], detail)


def _read(path: PathLike | None, optional: bool = False) -> str | None:
    if path is None or path == "":
        return None
    try:
        # A wrong file may be large, and messages must not contain its content.
        with open(path, encoding="ascii") as file:
            return file.read(4096).strip()
    except FileNotFoundError:
        if optional:
            return None
        raise NotAuthenticated(f"there is no token file {os.fspath(path)}") from None
    except UnicodeDecodeError:
        raise NotAuthenticated(f"{os.fspath(path)} is not a token file") from None
    except OSError as error:
        raise NotAuthenticated(f"{os.fspath(path)}: {error.strerror}") from error


def is_local_url(url: str) -> bool:
    """Return whether a URL names this machine."""
    return is_loopback(urlsplit(url).hostname or "")

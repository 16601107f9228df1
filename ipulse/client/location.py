"""Where the service is, and the secret that opens it.

Arguments come first, then the environment (IPULSE_URL, IPULSE_TOKEN, IPULSE_TOKEN_FILE,
IPULSE_CA), then what `ipulse up` left in its home (IPULSE_HOME, or ~/.local/state/ipulse).
"""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional, Union

import httpx

from ipulse.stack import tls
from ipulse.stack.home import REACHED_AS, Home
from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, InvalidJSON, NotAuthenticated, Problem, Unavailable

PathLike = Union[str, "os.PathLike[str]"]

_TOKEN = re.compile(r"[\x21-\x7e]+")  # what a header may carry
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Service:
    """A service's address and the token for it, which is never shown."""

    url: str
    token: str = field(repr=False)
    # Whom to believe that it is the service; None: the machine's own authorities.
    trust: Optional[ssl.SSLContext] = field(default=None, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, where no proxy is in the way."""
        return _is_local(self.url)


def find(
    url: Optional[str] = None,
    token: Optional[str] = None,
    token_file: Optional[PathLike] = None,
    home: Optional[PathLike] = None,
    environment: Optional[Mapping[str, str]] = None,
    ca: Optional[PathLike] = None,
) -> Service:
    """The service to speak to.

    ca: a file with the authority, or with the certificate, that it shows (PEM).

    Raises Unavailable where no service is known, NotAuthenticated where no token for it is, and
    InvalidInput for an address that is none, or an authority that is none.
    """
    known = os.environ if environment is None else environment
    folder = home_folder(home, known)
    elsewhere = url or known.get("IPULSE_URL")
    where = _checked(elsewhere or _url_at_home(folder))
    secret = token or _read(token_file)
    if secret is None:
        secret = known.get("IPULSE_TOKEN") or _read(known.get("IPULSE_TOKEN_FILE"))
    # The token at home is for the service at home: it is not shown to any other address.
    if secret is None and _is_local(where):
        secret = _read(folder / "token", optional=True)
    if secret is None:
        raise NotAuthenticated(
            f"no token for {where}: set IPULSE_TOKEN_FILE to the token file of that service"
        )
    if not secret:
        raise NotAuthenticated("the token is empty; is its file the right one?")
    if not _TOKEN.fullmatch(secret):
        raise NotAuthenticated(
            "the token has characters that no token has; is its file the right one?"
        )
    trust = _trust(ca or known.get("IPULSE_CA"), None if elsewhere else folder)
    return Service(url=where, token=secret, trust=trust)


def _trust(ca: Optional[PathLike], at_home: Optional[Path]) -> Optional[ssl.SSLContext]:
    if ca:
        return tls.authorities(ca)
    if at_home is not None and (certificate := Home(at_home).certificate_file).exists():
        return tls.pinned(certificate)
    return None


def home_folder(home: Optional[PathLike], environment: Mapping[str, str]) -> Path:
    """The folder where an embedded stack keeps its state."""
    chosen = home or environment.get("IPULSE_HOME") or "~/.local/state/ipulse"
    return Path(chosen).expanduser()


def _url_at_home(folder: Path) -> str:
    try:
        value: Any = strict_json.loads((folder / "server.json").read_bytes())
        told = str(value["url"])
        for listened, reached in REACHED_AS.items():  # an IPv6 address has brackets around it
            told = re.sub(rf"//(\[?){re.escape(listened)}(\]?:)", rf"//\g<1>{reached}\2", told)
        return told
    except FileNotFoundError:
        raise Unavailable(
            f"no service is known in {folder}: start one with `ipulse up`, "
            "or set IPULSE_URL to the address of one that runs elsewhere"
        ) from None
    except (OSError, InvalidJSON, KeyError, TypeError) as error:
        raise Unavailable(
            f"{folder / 'server.json'} does not say where the service is "
            f"({type(error).__name__}): start it again with `ipulse up`"
        ) from error


def _checked(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _bad_url("the service's address must look like http://127.0.0.1:8470")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise _bad_url("the service's address has no user, query or fragment in it")
    return str(parsed).rstrip("/")


def _bad_url(detail: str) -> InvalidInput:
    return InvalidInput([Problem("", "invalid_url", detail)], detail)


def _read(path: Optional[PathLike], optional: bool = False) -> Optional[str]:
    if path is None or path == "":
        return None
    try:
        # A wrong file may be of any size, and its content is not for messages.
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


def _is_local(url: str) -> bool:
    return httpx.URL(url).host in _LOOPBACK

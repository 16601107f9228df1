"""The name of this machine under which the page of a local service keeps its cookie.

Browsers send a cookie of 127.0.0.1 to every port of it, so to each program that listens there. A
name below `localhost`, which they resolve by themselves, is known to nobody else: it follows from
the key of the service's home, and only who has signed in gets it.
"""

from __future__ import annotations

import hashlib
import hmac

from ipulse_service.settings import LOOPBACK, Settings

_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "[::1]", "localhost"})


def page_host(settings: Settings, key: bytes) -> str | None:
    """Returns the name; None for a service that listens elsewhere, or with TLS."""
    if settings.tls_certificate is not None or settings.host not in LOOPBACK:
        return None
    return f"ipulse-{hmac.digest(key, b'page', hashlib.sha256).hex()[:16]}.localhost"


def page_url(name: str | None, host: str) -> str | None:
    """Returns the address of the page for a request with this Host header, None if it stays."""
    asked, _, port = host.lower().rpartition(":")
    if name is None or not port.isdecimal() or asked not in _LOOPBACK_HOSTS:
        return None
    return f"http://{name}:{port}"

"""Checks the URL of the broker, which service and agents share."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from ipulse_core.messages import BROKER_SCHEMES

_VERIFIED = ("required", "CERT_REQUIRED")


def broker_problem(url: str) -> str | None:
    """Return what is wrong with a broker's URL, None if it may be used.

    The text does not contain the URL, which may contain a password. Celery verifies no certificate
    unless the URL asks for it, so that anyone on the way could read and send wake-ups.
    """
    scheme = url.partition("://")[0]
    if scheme not in BROKER_SCHEMES:
        return f"must begin with one of {', '.join(f'{scheme}://' for scheme in BROKER_SCHEMES)}"
    if scheme != "rediss":
        return None
    try:
        wanted = parse_qs(urlsplit(url).query).get("ssl_cert_reqs", [])
    except ValueError:
        return "is no URL"
    if len(wanted) == 1 and wanted[0] in _VERIFIED:
        return None
    return (
        "must end with ?ssl_cert_reqs=required, and &ssl_ca_certs=FILE for an authority of your "
        "own: the certificate of a rediss:// server is not verified otherwise"
    )

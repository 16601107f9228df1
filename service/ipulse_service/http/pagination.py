"""Page tokens: opaque, signed, and good only for the list they came from."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct

from ipulse_core.errors import Problem
from ipulse_service.http.problems import InvalidParameter

_FORM = struct.Struct(">q8s")  # the key of the last item shown, and a digest of the filters
_TAG_BYTES = 16


def seal(key: bytes, last: int, filters: str) -> str:
    """The token for what comes after the item `last` of a list with these filters."""
    plain = _FORM.pack(last, _digest(filters))
    tag = hmac.digest(key, plain, "sha256")[:_TAG_BYTES]
    return base64.urlsafe_b64encode(tag + _veil(key, tag, plain)).decode().rstrip("=")


def unseal(key: bytes, token: str, filters: str) -> int:
    """The key of the last item shown. Raises InvalidParameter for any token but `seal`'s."""
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("bad_token", "this is not a page token of this service") from error
    tag, veiled = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
    plain = _veil(key, tag, veiled)
    wanted = hmac.digest(key, plain, "sha256")[:_TAG_BYTES]
    if len(plain) != _FORM.size or not hmac.compare_digest(tag, wanted):
        raise _refused("bad_token", "this is not a page token of this service")
    last, digest = _FORM.unpack(plain)
    if digest != _digest(filters):
        raise _refused("filters_changed", "the filters must be those of the first page")
    return int(last)


def _veil(key: bytes, tag: bytes, text: bytes) -> bytes:
    # The tag is different for every content, so the same stream never covers two of them.
    stream = hmac.digest(key, b"veil" + tag, "sha256")
    return bytes(a ^ b for a, b in zip(text, stream, strict=False))


def _digest(filters: str) -> bytes:
    return hashlib.sha256(filters.encode()).digest()[:8]


def _refused(code: str, detail: str) -> InvalidParameter:
    return InvalidParameter([Problem("/query/page_token", code, detail)])

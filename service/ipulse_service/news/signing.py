"""Signatures by the scheme of Standard Webhooks.

No secret is stored: each follows from the service's key and the webhook's id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

PREFIX = "whsec_"


def secret_of(key: bytes, webhook_id: str) -> str:
    """Returns the secret that a receiver gets: `whsec_` and 32 bytes in base64."""
    raw = hmac.digest(key, f"webhook/{webhook_id}".encode(), hashlib.sha256)
    return PREFIX + base64.b64encode(raw).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Returns the value of the header `webhook-signature`."""
    raw = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(raw, signed, hashlib.sha256)).decode()

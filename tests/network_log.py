"""What a browser has asked for, and what its pages' policies refused, from its logs."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

LOGS = {"browser": "ALL", "performance": "ALL"}  # for the capability goog:loggingPrefs
_LOCAL = frozenset({"about", "blob", "chrome", "data", "file"})  # these open no connection
_OPENINGS = ("Network.requestWillBeSent", "Network.webSocketCreated", "Network.webTransportCreated")


def hosts_asked(driver: Any) -> dict[str, int]:
    """Return the hosts that requests were sent to since the last call, and how many.

    What the page's policy refused was not sent.
    """
    hosts: dict[str, str] = {}
    refused = set()
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        method, details = message["method"], message["params"]
        if method in _OPENINGS:
            url = urlsplit(details.get("request", details)["url"])
            if url.scheme not in _LOCAL:
                hosts[details.get("requestId", details.get("transportId"))] = url.netloc
        elif method == "Network.loadingFailed" and details.get("blockedReason") == "csp":
            refused.add(details["requestId"])
    asked = [host for request, host in hosts.items() if request not in refused]
    return {host: asked.count(host) for host in set(asked)}


def policy_violations(driver: Any) -> list[str]:
    """Return the console's messages since its last reading about the content security policy."""
    messages = [str(entry["message"]) for entry in driver.get_log("browser")]
    return [message for message in messages if "Content Security Policy" in message]

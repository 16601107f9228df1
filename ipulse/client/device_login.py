"""Signs a program in: the service gives it a code, which a person confirms in the page."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from ipulse.client.transport.api_call import object_in
from ipulse.client.transport.problems import error_in
from ipulse.stack import tls
from ipulse_core.errors import InvalidJSON, NotAuthenticated, RemoteError, Unavailable

SCOPES = "read submit code manage admin"  # the token carries those that the person has
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
_REFUSALS = {
    "access_denied": "the login was refused in the page",
    "expired_token": "nobody has confirmed the code within its time: run `ipulse login` again",
}


@dataclass(frozen=True)
class DeviceLogin:
    """A code that waits for a person."""

    user_code: str
    address: str  # opens the page with the code
    interval: float  # seconds between two questions
    device_code: str = field(repr=False)


class DeviceClient:
    """Asks a service for a token without having one."""

    def __init__(self, url: str, trust: ssl.SSLContext | None = None) -> None:
        self._http = httpx.Client(base_url=url, verify=tls.trust_from(url, trust), timeout=30.0)

    def __enter__(self) -> DeviceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def begin(self, scope: str = SCOPES) -> DeviceLogin:
        """Begin a login. Raises IPUlseError."""
        name = socket.gethostname()[:99] or "a machine"
        answer = self._post("/v1/auth/device", {"client_id": name, "scope": scope})
        if answer.is_error:
            raise error_in(answer)
        value = _object(answer)
        return DeviceLogin(
            str(value["user_code"]),
            str(value["verification_uri_complete"]),
            float(str(value["interval"])),
            str(value["device_code"]),
        )

    def wait(self, login: DeviceLogin, sleep: Callable[[float], object] = time.sleep) -> str:
        """Return the token once the person has confirmed. Raises NotAuthenticated if it does not.

        A service that does not answer for a moment is asked again.
        """
        interval = login.interval
        body = {"grant_type": GRANT_TYPE, "device_code": login.device_code}
        while True:
            sleep(interval)
            try:
                answer = self._post("/v1/auth/device/token", body)
            except Unavailable:
                continue
            if answer.is_success:
                return str(_object(answer)["access_token"])
            reason = str(_object(answer).get("error", ""))
            if reason == "slow_down":
                interval += 5.0
            elif answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR and (
                reason != "authorization_pending"
            ):
                raise NotAuthenticated(_REFUSALS.get(reason, reason or "the login was refused"))

    def _post(self, path: str, body: dict[str, str]) -> httpx.Response:
        try:
            return self._http.post(path, json=body)
        except httpx.TransportError as error:
            raise Unavailable(f"no service at {self._http.base_url}: {error}") from error


def _object(answer: httpx.Response) -> dict[str, object]:
    try:
        return object_in(answer)
    except (InvalidJSON, TypeError) as error:
        raise RemoteError("the service's answer to a login cannot be read") from error

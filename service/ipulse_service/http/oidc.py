"""Signs people in with an OpenID Connect provider: authorization code with PKCE."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ipulse.install_hint import require_modules
from ipulse_core.errors import Unavailable
from ipulse_service.settings import LOOPBACK, Settings

LOGIN_SECONDS = 600  # from the way to the provider to the way back
CLOCK_SKEW_SECONDS = 60
# Each may keep a thread of the service waiting for the provider, and needs no token.
SIGN_INS_AT_ONCE = 4
ALGORITHMS = ("RS256", "ES256", "EdDSA")
_SCOPE = "openid profile email"
_METADATA_SECONDS, _KEYS_SECONDS = 3600.0, 60.0  # how long an answer counts; between two readings
_MOST_BYTES = 2**20  # of an answer
_TIMEOUT_SECONDS = 10.0


class SignInRefused(Exception):
    """Nobody is signed in; the message is a code that the page explains."""


@dataclass(frozen=True)
class Identity:
    """Who somebody is, as a provider says."""

    issuer: str
    subject: str
    handle: str  # that the provider prefers
    full_name: str
    email: str  # empty unless the provider has verified it
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Login:
    state: str
    nonce: str
    verifier: str
    to: str
    expires_at: float


class OpenIDClient:
    """Knows one provider, which the operator names."""

    def __init__(self, settings: Settings, key: bytes) -> None:
        self._issuer = settings.oidc_issuer
        self._client_id = settings.oidc_client_id
        self._secret_file = settings.oidc_client_secret_file
        self._groups_claim = settings.oidc_groups_claim
        self._key = hmac.digest(key, b"sign-in", hashlib.sha256)
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(SIGN_INS_AT_ONCE)
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, Any] | None = None
        if self._issuer:
            require_modules(("authlib", "httpx"), "signing in with an OpenID Connect provider")

    @property
    def issuer(self) -> str:
        """The address of the provider; empty without one."""
        return self._issuer

    def begin(self, redirect_uri: str, to: str) -> tuple[str, str]:
        """Returns the address of the provider, and the text of the cookie for the way back.

        Raises Unavailable if the provider does not answer, or too many people sign in at once.
        """
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        login = _Login(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(48),
            to,
            time.time() + LOGIN_SECONDS,
        )
        with self._place():
            endpoint = self._read_metadata()["authorization_endpoint"]
        address = prepare_grant_uri(
            endpoint,
            self._client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=_SCOPE,
            state=login.state,
            nonce=login.nonce,
            code_challenge=create_s256_code_challenge(login.verifier),
            code_challenge_method="S256",
        )
        return str(address), self._sealed(login)

    def finish(self, cookie: str, state: str, code: str, redirect_uri: str) -> tuple[Identity, str]:
        """Returns who came back from the provider, and where that person wanted to go.

        Raises SignInRefused, and Unavailable as `begin` does.
        """
        login = self._opened(cookie)
        if login is None or not hmac.compare_digest(login.state.encode(), state.encode()):
            raise SignInRefused("state")
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._client_id,
            "code_verifier": login.verifier,
        }
        if self._secret_file is not None:
            body["client_secret"] = self._secret_file.read_text().strip()
        with self._place():
            answer = self._ask("POST", self._read_metadata()["token_endpoint"], body)
            id_token = answer.get("id_token")
            if not isinstance(id_token, str) or len(id_token) > 2**16:
                raise SignInRefused("token")
            return self._identity(self._claims(id_token, login.nonce)), login.to

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise Unavailable("too many people sign in at once: try again in a moment")
        try:
            yield
        finally:
            self._places.release()

    def _identity(self, claims: dict[str, Any]) -> Identity:
        email = str(claims.get("email") or "") if claims.get("email_verified") is True else ""
        handle = str(claims.get("preferred_username") or email.partition("@")[0] or claims["sub"])
        name = str(claims.get("name") or "")
        groups = claims.get(self._groups_claim)
        listed = groups if isinstance(groups, list) else [groups]
        names = tuple(each for each in listed if isinstance(each, str))
        return Identity(self._issuer, str(claims["sub"]), handle, name[:128], email, names)

    def _claims(self, id_token: str, nonce: str) -> dict[str, Any]:
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError

        for is_last in (False, True):
            try:
                token = jwt.decode(id_token, self._read_keys(is_last), algorithms=ALGORITHMS)
                break
            except (JoseError, ValueError) as error:
                if is_last:
                    raise SignInRefused("token") from error
        options = {
            "iss": {"essential": True, "value": self._issuer},
            "aud": {"essential": True, "value": self._client_id},
            "sub": {"essential": True},
        }
        params = {"nonce": nonce, "client_id": self._client_id}
        claims = CodeIDToken(token.claims, token.header, options, params)
        try:
            claims.validate(leeway=CLOCK_SKEW_SECONDS)
        except Exception as error:  # those of two libraries, which share no class
            raise SignInRefused("token") from error
        return dict(claims)

    def _read_metadata(self) -> dict[str, Any]:
        with self._lock:
            known = self._metadata
            if known is not None and time.monotonic() - known[0] < _METADATA_SECONDS:
                return known[1]
            address = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
            found = self._ask("GET", address)
            if found.get("issuer") != self._issuer:
                raise Unavailable(f"the provider at {self._issuer} says that it is another one")
            self._metadata = (time.monotonic(), found)
            return found

    def _read_keys(self, may_have_changed: bool) -> Any:
        """Returns the keys of the provider; reads them again at most once a minute."""
        from joserfc.jwk import KeySet

        metadata = self._read_metadata()
        with self._lock:
            known = self._keys
            is_new = known is not None and time.monotonic() - known[0] < _KEYS_SECONDS
            if known is not None and (is_new or not may_have_changed):
                return known[1]
            keys = KeySet.import_key_set(self._ask("GET", metadata["jwks_uri"]))  # type: ignore[arg-type]  # the answer of another program, which it checks
            self._keys = (time.monotonic(), keys)
            return keys

    def _ask(self, method: str, address: str, form: dict[str, str] | None = None) -> dict[str, Any]:
        import httpx

        parts = urlsplit(address)
        if parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise Unavailable(f"the address {address} of the provider does not begin with https://")
        try:
            with httpx.Client(timeout=_TIMEOUT_SECONDS, trust_env=False) as client:
                response = client.request(method, address, data=form)
            if len(response.content) > _MOST_BYTES:
                raise ValueError("the answer is too large")
            value = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(f"the provider {self._issuer} does not answer: {error}") from error
        if form is not None and response.is_client_error:  # such as a code that was used twice
            raise SignInRefused("provider")
        if response.is_error or not isinstance(value, dict):
            raise Unavailable(
                f"the provider {self._issuer} answers with HTTP {response.status_code}"
            )
        return value

    def _sealed(self, login: _Login) -> str:
        text = base64.urlsafe_b64encode(json.dumps(vars(login)).encode()).decode()
        return f"{text}.{self._mac(text)}"

    def _opened(self, cookie: str) -> _Login | None:
        text, _, mac = cookie.partition(".")
        if not hmac.compare_digest(mac.encode(), self._mac(text).encode()):
            return None
        login = _Login(**json.loads(base64.urlsafe_b64decode(text)))
        return login if time.time() < login.expires_at else None

    def _mac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), hashlib.sha256).hex()

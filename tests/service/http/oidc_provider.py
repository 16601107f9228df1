"""An OpenID Connect provider, which signs what a test asks for."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import ECKey

CLIENT_ID, SECRET = "ipulse", "the-secret-of-the-client"


class Provider:
    """It signs everybody in at once, as `subject`."""

    def __init__(self) -> None:
        self.key = self._new_key()
        self.subject = "sub-of-alice"
        self.claims: dict[str, Any] = {}  # in place of the right ones
        self.algorithm = "ES256"
        self.sign: Callable[[dict[str, Any]], str] = self._sign
        self.is_down = False
        self.may_answer = threading.Event()  # clear: it accepts connections, and does not answer
        self.may_answer.set()
        self.waiting = threading.Semaphore(0)  # released by each request
        self.key_reads = 0
        self._codes: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.answer(self, "")

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                provider.answer(self, self.rfile.read(size).decode())

            def log_message(self, format: str, *args: object) -> None:
                """Prints nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def rotate(self) -> None:
        """Sign with another key from now on."""
        self.key = self._new_key()

    def authorize(self, address: str) -> str:
        """Sign in as a browser that was sent here; return where it is sent back to."""
        asked = {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        query = urlencode({"code": code, "state": asked["state"]})
        return f"{asked['redirect_uri']}?{query}"

    def answer(self, request: BaseHTTPRequestHandler, body: str) -> None:
        path = urlsplit(request.path).path
        self.waiting.release()
        self.may_answer.wait(60)
        if self.is_down:
            return self._send(request, 503, {})
        if path == "/.well-known/openid-configuration":
            return self._send(
                request,
                200,
                {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                },
            )
        if path == "/keys":
            self.key_reads += 1
            return self._send(request, 200, {"keys": [self.key.as_dict(private=False)]})
        assert path == "/token"
        form = {name: value for name, [value] in parse_qs(body).items()}
        asked = self._codes.pop(form["code"], None)
        is_right = (
            asked is not None
            and form["client_secret"] == SECRET
            and form["redirect_uri"] == asked["redirect_uri"]
            and create_s256_code_challenge(form["code_verifier"]) == asked["code_challenge"]
        )
        if asked is None or not is_right:
            return self._send(request, 400, {"error": "invalid_grant"})
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": self.subject,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "preferred_username": "Alice",
            "name": "Alice Archer",
            "email": "alice@example.org",
            "email_verified": True,
            **self.claims,
        }
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        return self._send(request, 200, {"id_token": token, "token_type": "Bearer"})

    def _sign(self, claims: dict[str, Any]) -> str:
        header = {"alg": self.algorithm, "kid": self.key.kid}
        return jwt.encode(header, claims, self.key)

    @staticmethod
    def _new_key() -> ECKey:
        return ECKey.generate_key("P-256", {"kid": secrets.token_hex(4)}, private=True)

    @staticmethod
    def _send(request: BaseHTTPRequestHandler, status: int, value: dict[str, Any]) -> None:
        content = json.dumps(value).encode()
        request.send_response(status)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

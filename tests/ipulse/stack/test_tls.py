"""Certificates are tested by real handshakes, in memory and over a socket."""

from __future__ import annotations

import asyncio
import http.server
import json
import ssl
import stat
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ipulse.client import Connection
from ipulse.client.location import ServiceLocation
from ipulse.client.transport.connection import options_for
from ipulse.stack import self_signed, tls
from ipulse.stack.home import Home
from ipulse_core.errors import InvalidInput, Unavailable


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return tls.self_signed(tmp_path_factory.mktemp("made"), ["lab.example"])


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return tls.self_signed(tmp_path_factory.mktemp("other"))


def _expiring(path: Path, key: Path, end: datetime) -> Path:
    """Write a certificate for the key that expires at `end`."""
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    empty = x509.Name([])
    builder = x509.CertificateBuilder(empty, empty, private.public_key(), 1, end - timedelta(9))
    signed = builder.not_valid_after(end).sign(private, hashes.SHA256())
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return path


class TestSelfSigned:
    def test_is_reused_while_it_covers_every_name(self, made: tuple[Path, Path]) -> None:
        before = made[0].read_bytes()
        assert tls.self_signed(made[0].parent, ["lab.example"]) == made
        assert made[0].read_bytes() == before
        assert made[1].stat().st_mode & 0o077 == 0

    def test_key_is_never_readable_by_others_and_replaces_a_readable_one(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "tls-key.pem").write_text("an older key")
        (tmp_path / "tls-key.pem").chmod(0o644)
        _, key = tls.self_signed(tmp_path)
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert "an older key" not in key.read_text()

    def test_names_every_host_and_is_valid_for_a_year(self, made: tuple[Path, Path]) -> None:
        parsed = x509.load_pem_x509_certificate(made[0].read_bytes())
        names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["localhost", "lab.example"]
        assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == [
            "127.0.0.1",
            "::1",
        ]
        left = parsed.not_valid_after_utc - datetime.now(timezone.utc)
        assert timedelta(self_signed.DAYS - 1) < left <= timedelta(self_signed.DAYS)

    def test_passes_the_strict_checks_of_newer_pythons(self, made: tuple[Path, Path]) -> None:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(*made)
        client = tls.authorities(made[0])
        client.verify_flags |= ssl.VERIFY_X509_STRICT
        for name in ("lab.example", "::1"):
            tls._shake_hands(server, client, name)
        with pytest.raises(ssl.SSLCertVerificationError):
            tls._shake_hands(server, client, "elsewhere.example")

    def test_is_replaced_for_another_name(self, tmp_path: Path) -> None:
        before = tls.self_signed(tmp_path)[0].read_bytes()
        assert tls.self_signed(tmp_path, ["10.1.2.3"])[0].read_bytes() != before

    def test_refuses_an_invalid_name(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput) as refused:
            tls.self_signed(tmp_path, ["a,IP:1.2.3.4"])
        assert "the name or the address of a machine" in str(refused.value.problems[0])


class TestCheck:
    def test_accepts_a_pair(self, made: tuple[Path, Path]) -> None:
        tls.check(*made)

    def test_refuses_the_key_of_another_certificate(
        self, made: tuple[Path, Path], other: tuple[Path, Path]
    ) -> None:
        with pytest.raises(InvalidInput, match=r"tls-key\.pem is not the key of the certificate"):
            tls.check(made[0], other[1])

    def test_refuses_files_that_are_swapped_missing_or_encrypted(
        self, made: tuple[Path, Path], tmp_path: Path
    ) -> None:
        certificate, key = made
        with pytest.raises(InvalidInput, match=r"tls-key\.pem is not a certificate"):
            tls.check(key, certificate)
        with pytest.raises(InvalidInput, match="gone is not a certificate: No such file"):
            tls.check(tmp_path / "gone", key)
        with pytest.raises(InvalidInput, match="private key: No such file"):
            tls.check(certificate, tmp_path / "gone")
        locked = tmp_path / "locked.pem"
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        locked.write_bytes(
            private.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(b"x"),
            )
        )
        with pytest.raises(InvalidInput, match="it is encrypted"):
            tls.check(certificate, locked)

    def test_refuses_a_certificate_that_has_expired(
        self, made: tuple[Path, Path], tmp_path: Path
    ) -> None:
        expired = _expiring(tmp_path / "expired.pem", made[1], datetime(2001, 1, 2))
        with pytest.raises(InvalidInput, match=r"expired\.pem cannot be served: certificate has"):
            tls.check(expired, made[1])

    def test_warns_only_of_a_certificate_that_expires_within_a_month(
        self, made: tuple[Path, Path], tmp_path: Path
    ) -> None:
        assert tls.expiry_warning(made[0]) is None
        day = datetime.now(timezone.utc).replace(tzinfo=None) + timedelta(days=3, hours=1)
        soon = _expiring(tmp_path / "soon.pem", made[1], day)
        warning = tls.expiry_warning(soon)
        assert warning is not None
        assert str(soon) in warning
        assert f"{day:%Y-%m-%d}" in warning


class TestClient:
    @pytest.fixture
    def url(self, made: tuple[Path, Path]) -> Iterator[str]:
        """Return the URL of a server that answers over TLS that there are no jobs."""

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = b'{"jobs": [], "next_page_token": ""}'
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Not into the tests' output."""

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*made)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
            server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client's alert
            server.socket = context.wrap_socket(server.socket, server_side=True)
            serving = threading.Thread(target=server.serve_forever, args=(0.01,))
            serving.start()
            yield f"https://127.0.0.1:{server.server_port}"
            server.shutdown()
            serving.join()

    def test_trusts_the_certificate_it_is_given(self, url: str, made: tuple[Path, Path]) -> None:
        with Connection(url, "token", ca=made[0]) as client:
            assert list(client.jobs()) == []

    def test_finds_the_certificate_where_it_finds_the_address(
        self, url: str, made: tuple[Path, Path], tmp_path: Path
    ) -> None:
        everywhere = url.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 - a file says so
        (tmp_path / "server.json").write_text(json.dumps({"url": everywhere}))
        Home(tmp_path).keep_certificate(made[0])
        with Connection(None, "token", home=tmp_path) as client:
            assert client.url == url
            assert list(client.jobs()) == []

    def test_refuses_another_certificate_at_once_with_a_hint(
        self, url: str, other: tuple[Path, Path]
    ) -> None:
        message = r"not trusted \(self.signed.*--ca FILE"
        with (
            Connection(url, "token", ca=other[0]) as client,
            pytest.raises(Unavailable, match=message),
        ):
            list(client.jobs())

    def test_names_the_right_scheme(self, url: str) -> None:
        plain, message = url.replace("https", "http"), "its address begins with https://"
        with (
            Connection(plain, "token", retries=0) as client,
            pytest.raises(Unavailable, match=message),
        ):
            list(client.jobs())

    def test_verifies_an_object_store_to_which_a_service_without_tls_leads(
        self, url: str, made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service = ServiceLocation("http://127.0.0.1:9", "token")
        refused = pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED")
        with httpx.Client(**options_for(service, 30.0)) as client, refused:
            client.get(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(made[0]))  # the machine's authorities
        with httpx.Client(**options_for(service, 30.0)) as client:
            assert client.get(url).json()["jobs"] == []
        assert asyncio.run(_status(service, url)) == 200

    def test_verifies_an_object_store_otherwise_than_the_service(
        self,
        url: str,
        made: tuple[Path, Path],
        other: tuple[Path, Path],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Check that the certificate pinned for the service is not used for other hosts."""
        refused = "CERTIFICATE_VERIFY_FAILED"
        for trust in (tls.pinned(other[0]), tls.pinned(made[0])):
            service = ServiceLocation("https://lab.example", "token", trust)
            with (
                httpx.Client(**options_for(service, 30.0)) as client,
                pytest.raises(httpx.ConnectError, match=refused),
            ):
                client.get(url)
        service = ServiceLocation("https://lab.example", "token", tls.pinned(other[0]))
        monkeypatch.setenv("SSL_CERT_FILE", str(made[0]))
        with httpx.Client(**options_for(service, 30.0)) as client:
            assert client.get(url).status_code == 200
        assert asyncio.run(_status(service, url)) == 200
        service = ServiceLocation(url, "token", tls.pinned(other[0]))
        wrong = pytest.raises(httpx.ConnectError, match=refused)
        with httpx.Client(**options_for(service, 30.0)) as client, wrong:
            client.get(url)

    def test_trusts_the_authority_of_the_service_for_object_stores(
        self, url: str, made: tuple[Path, Path]
    ) -> None:
        service = ServiceLocation("https://lab.example", "token", tls.authorities(made[0]))
        with httpx.Client(**options_for(service, 30.0)) as client:
            assert client.get(url).status_code == 200


async def _status(service: ServiceLocation, url: str) -> int:
    async with httpx.AsyncClient(**options_for(service, 30.0)) as client:
        return (await client.get(url)).status_code

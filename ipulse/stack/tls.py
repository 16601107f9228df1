"""TLS: making a certificate, checking that one can be served, and what a client trusts.

Programs on one machine pin the certificate itself, whatever names it contains: only the holder of
its key can answer with it. Other clients verify the authority and the name.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import ssl
import string
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Union
from urllib.parse import urlsplit

from ipulse.stack.client_trust import LateAuthorities, TrustByHost
from ipulse.stack.self_signed import make_pair
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.worker_faults import errors_name

if TYPE_CHECKING:
    from cryptography import x509

WARNING_DAYS = 30  # a certificate that expires sooner is reported when the service starts
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_PARTIAL_CHAIN = 0x80000  # X509_V_FLAG_PARTIAL_CHAIN: a trusted leaf needs no root
_END = "-----END CERTIFICATE-----"
# Reasons in several versions of OpenSSL.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + ".-*")

PathLike = Union[str, "os.PathLike[str]"]


def authorities(path: PathLike, content: bytes | None = None) -> ssl.SSLContext:
    """Return a context that trusts the authorities in a PEM file and verifies the name.

    A self-signed certificate in the file counts as an authority. `content` is that of a file that
    was read before. Raises InvalidInput.
    """
    try:
        if content is not None:  # an empty text would mean the machine's own authorities
            return ssl.create_default_context(cadata="\n" + content.decode("ascii", "ignore"))
        return ssl.create_default_context(cafile=os.fspath(path))
    except OSError as error:  # ssl.SSLError is one
        raise _unusable(path, error, "a file with the certificate of the authority") from error


def machines_trust() -> ssl.SSLContext:
    """Return a context that trusts the authorities of this machine and verifies the name."""
    return LateAuthorities(ssl.PROTOCOL_TLS_CLIENT)


def trust_from(url: str, trust: ssl.SSLContext | None) -> ssl.SSLContext:
    """Return the context of a client of the service at `url`, which may lead to other hosts.

    `trust` verifies the service alone; None means the authorities of this machine.
    """
    if trust is None:
        return machines_trust()
    return TrustByHost.of(urlsplit(url).hostname or "", trust)


def pinned(path: PathLike) -> ssl.SSLContext:
    """Return a context that trusts only the first certificate of a PEM file, under any name.

    Raises InvalidInput.
    """
    try:
        return pinned_text(first_certificate(path))
    except OSError as error:
        raise _unusable(path, error, "a certificate") from error


def pinned_text(certificate: str) -> ssl.SSLContext:
    """Return a context that trusts only this certificate (PEM), under any name. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VerifyFlags(_PARTIAL_CHAIN)
    context.load_verify_locations(cadata=certificate)
    return context


def first_certificate(path: PathLike) -> str:
    """Return the first certificate of a PEM file: the service's own. Raises OSError."""
    text = Path(path).read_text("ascii", "replace")
    head, end, _ = text.partition(_END)
    if not end:
        raise ssl.SSLError(0, "it contains no certificate in PEM form")
    return head + end + "\n"


def check(certificate: Path, key: Path) -> None:
    """Check, with a handshake in memory, that a service can use these files for TLS.

    Raises InvalidInput, which names the file that is wrong and the reason.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = pinned(certificate)
    try:
        key.read_bytes()
        server.load_cert_chain(certificate, key, password=_no_password)
    except OSError as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            words = f"is not the key of the certificate {certificate}"
            raise _wrong("/tls-key", key, words) from error
        raise _unusable(key, error, "the certificate's private key") from error
    try:
        _shake_hands(server, client)
    except ssl.SSLCertVerificationError as error:
        words = f"cannot be served: {error.verify_message}"
        raise _wrong("/tls-cert", certificate, words) from error


def self_signed(folder: Path, names: Iterable[str] = ()) -> tuple[Path, Path]:
    """Return a certificate for this machine's own names and `names`, and its private key.

    The pair that an earlier call wrote to the folder is returned as long as it is valid for all
    these names; otherwise a new pair is written. Raises InvalidInput for a name that no
    certificate can contain, MissingDependency where `cryptography` is not installed.
    """
    certificate, key = folder / "tls-certificate.pem", folder / "tls-key.pem"
    wanted = list(dict.fromkeys([*LOCAL_NAMES, *names]))
    for name in wanted:
        _check_name(name)
    if _is_good_for(certificate, key, wanted):
        return certificate, key
    certificate_text, key_text = make_pair(wanted)
    key.unlink(missing_ok=True)
    # Created with its final mode: nobody else can open it, not even for a moment.
    descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with errors_name(key), os.fdopen(descriptor, "wb") as file:
        file.write(key_text)
    with errors_name(certificate):
        certificate.write_bytes(certificate_text)
    return certificate, key


def digest_of(path: PathLike) -> str:
    """Return the pin of a PEM file's first certificate: `sha256:` and its SHA-256."""
    return pin_of(ssl.PEM_cert_to_DER_cert(first_certificate(path)))


def pin_of(der: bytes) -> str:
    """Return the pin of a certificate in DER form."""
    return f"sha256:{hashlib.sha256(der).hexdigest()}"


def is_self_signed(path: PathLike) -> bool:
    """Return whether the first certificate of a PEM file is its own authority.

    Without the package `cryptography`, which also makes such certificates, it counts as one.
    """
    parsed = _parsed(path)
    return parsed is None or parsed.issuer == parsed.subject


def expiry_warning(certificate: Path) -> str | None:
    """Return a sentence if the certificate expires within a month, else None."""
    parsed = _parsed(certificate)
    if parsed is None:
        return None
    expires = parsed.not_valid_after_utc
    days = (expires - datetime.now(timezone.utc)).days
    if days >= WARNING_DAYS:
        return None
    return f"the certificate {certificate} expires on {expires:%Y-%m-%d}, in {days} days"


def distrust_in(error: BaseException | None) -> str | None:
    """Return why TLS failed for good, and what to do; None if the cause is something else."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({error.verify_message}): name the authority, or "
                "the certificate itself, with --ca FILE or IPULSE_CA"
            )
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            return "it does not speak TLS: its address begins with http://"
        error = error.__cause__ or error.__context__
    return None


def _parsed(path: PathLike) -> x509.Certificate | None:
    """Return the first certificate of a PEM file, None if it cannot be parsed here."""
    try:
        from cryptography import x509
    except ImportError:  # a certificate from elsewhere can be served without it
        return None
    try:
        return x509.load_pem_x509_certificate(first_certificate(path).encode())
    except ValueError:  # OpenSSL accepts some certificates that `cryptography` refuses
        return None


def _is_good_for(certificate: Path, key: Path, names: Iterable[str]) -> bool:
    try:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificate, key, password=_no_password)
        for name in names:
            _shake_hands(server, authorities(certificate), name)
    except (OSError, InvalidInput):
        return False
    return True


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None = None) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server.wrap_bio(to_server, to_client, server_side=True),
        client.wrap_bio(to_client, to_server, server_hostname=name),
    ]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass


def _check_name(name: str) -> None:
    """Raise InvalidInput unless `name` is a host name or an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if not name or set(name) - _NAME_CHARACTERS:
            detail = f"must be the name or the address of a machine; got {name[:60]!r}"
            raise InvalidInput(
                [Problem("/name", "invalid_name", detail)], "no certificate for that"
            ) from None


def _no_password() -> str:
    raise ssl.SSLError(0, "it is encrypted, and no password can be entered here: decrypt it")


def _unusable(path: PathLike, error: OSError, wanted: str) -> InvalidInput:
    why = "it contains none in PEM form" if getattr(error, "reason", None) else error.strerror
    return _wrong("", path, f"is not {wanted}: {why}")


def _wrong(pointer: str, path: PathLike, words: str) -> InvalidInput:
    detail = f"{os.fspath(path)} {words}"
    return InvalidInput([Problem(pointer, "tls", detail)], detail)

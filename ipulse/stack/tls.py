"""Certificates: one made here, whether one can be served, and whom a client trusts.

Between the parts of one machine it is the certificate itself that is trusted, whatever names it
bears: whoever can answer with it has its key. Everybody else asks an authority, and for the name.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import ssl
import string
import subprocess  # runs openssl
from pathlib import Path
from typing import Iterable, Optional, Tuple, Union

from ipulse_core.errors import InvalidInput, MissingDependency, Problem, Unavailable

DAYS = 365  # for which a certificate made here is good
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_PARTIAL_CHAIN = 0x80000  # X509_V_FLAG_PARTIAL_CHAIN: an end that is trusted needs no root
_END = "-----END CERTIFICATE-----"
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")  # as OpenSSLs say it
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + ".-*")

PathLike = Union[str, "os.PathLike[str]"]


def authorities(path: PathLike) -> ssl.SSLContext:
    """Trusts what these authorities vouch for, or a certificate in the file that vouches for
    itself; the name must fit.

    path: PEM. Raises InvalidInput.
    """
    try:
        return ssl.create_default_context(cafile=os.fspath(path))
    except OSError as error:  # ssl.SSLError is one
        raise _unusable(path, error, "a file with the certificate of the authority") from error


def pinned(path: PathLike) -> ssl.SSLContext:
    """Trusts the first certificate of this file and no other, by whatever name it is reached.

    path: PEM. Raises InvalidInput.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VerifyFlags(_PARTIAL_CHAIN)
    try:
        context.load_verify_locations(cadata=first_certificate(path))
    except OSError as error:
        raise _unusable(path, error, "a certificate") from error
    return context


def first_certificate(path: PathLike) -> str:
    """The service's own, which comes before those of its authorities. Raises OSError."""
    text = Path(path).read_text("ascii", "replace")
    head, end, _ = text.partition(_END)
    if not end:
        raise ssl.SSLError(0, "no certificate in PEM form is in it")
    return head + end + "\n"


def check(certificate: Path, key: Path) -> None:
    """Whether a service can speak TLS with these files: one handshake, in memory.

    Raises InvalidInput, saying which of the two is wrong and how.
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


def self_signed(folder: Path, names: Iterable[str] = ()) -> Tuple[Path, Path]:
    """A certificate for this machine's own names and `names`, and its key: the two files that
    were made there before, as long as they can be served under all these names, else new ones.

    Raises InvalidInput for what cannot be a name, MissingDependency where there is no openssl,
    Unavailable if that fails.
    """
    certificate, key = folder / "tls-certificate.pem", folder / "tls-key.pem"
    wanted = list(dict.fromkeys([*LOCAL_NAMES, *names]))
    all_names = ",".join(map(_alternative, wanted))
    if _is_good_for(certificate, key, wanted):
        return certificate, key
    openssl = shutil.which("openssl")
    if openssl is None:
        raise MissingDependency(
            "openssl is not installed, which makes certificates: apt-get install openssl, or name "
            "a certificate with --tls-cert and --tls-key"
        )
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    request = ["-x509", "-days", str(DAYS), "-subj", "/CN=ipulse"]
    extensions = ["-addext", f"subjectAltName={all_names}"]
    key.unlink(missing_ok=True)
    os.close(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # never readable by others
    made = subprocess.run(  # noqa: S603 - one program, without a shell
        [openssl, "req", *options, *request, *extensions, "-keyout", key, "-out", certificate],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if made.returncode:
        raise Unavailable(f"openssl made no certificate: {made.stderr.strip()[-500:]}")
    return certificate, key


def distrust_in(error: Optional[BaseException]) -> Optional[str]:
    """Why a connection cannot be secured, and the cure, if trying again is of no use."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({error.verify_message}): name the authority, or "
                "the certificate itself, with --ca FILE or IPULSE_CA"
            )
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            return "it speaks no TLS: its address begins with http://"
        error = error.__cause__ or error.__context__
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


def _shake_hands(
    server: ssl.SSLContext, client: ssl.SSLContext, name: Optional[str] = None
) -> None:
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server.wrap_bio(there, back, server_side=True),
        client.wrap_bio(back, there, server_hostname=name),
    ]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass


def _alternative(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        pass
    if not name or set(name) - _NAME_CHARACTERS:
        detail = f"must be the name or the address of a machine; got {name[:60]!r}"
        raise InvalidInput([Problem("/name", "invalid_name", detail)], "no certificate for that")
    return f"DNS:{name}"


def _no_password() -> str:
    raise ssl.SSLError(0, "it is encrypted, and nobody is there to give a password: decrypt it")


def _unusable(path: PathLike, error: OSError, wanted: str) -> InvalidInput:
    why = "it holds none in PEM form" if getattr(error, "reason", None) else error.strerror
    return _wrong("", path, f"is not {wanted}: {why}")


def _wrong(pointer: str, path: PathLike, words: str) -> InvalidInput:
    told = f"{os.fspath(path)} {words}"
    return InvalidInput([Problem(pointer, "tls", told)], told)

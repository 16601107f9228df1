"""Creation of self-signed certificates."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from ipulse.install_hint import install_hint
from ipulse_core.errors import MissingDependency

DAYS = 365  # validity of a new certificate
CLOCK_SKEW = timedelta(minutes=5)  # so that a client with a slow clock accepts it at once


def make_pair(names: Sequence[str]) -> tuple[bytes, bytes]:
    """Return a new certificate that is valid for these names, and its key, both as PEM.

    Raises MissingDependency if the package `cryptography` is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )
    except ImportError as error:
        raise MissingDependency(
            f"certificates are made with the package cryptography: {install_hint('stack')}; "
            "or name a certificate with --tls-cert and --tls-key"
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ipulse")])
    alternatives: list[x509.GeneralName] = []
    for name in names:
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            alternatives.append(x509.DNSName(name))
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    now = datetime.now(timezone.utc)
    identifier = x509.SubjectKeyIdentifier.from_public_key(public)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        # It is its own authority, so that a client can name it as one.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
    )
    certificate = builder.sign(key, hashes.SHA256())
    return certificate.public_bytes(Encoding.PEM), key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )

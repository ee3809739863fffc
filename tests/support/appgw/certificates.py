"""Certificates with their keys, made in this process, as Secrets have them."""

from __future__ import annotations

import base64
import datetime
import functools
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Pair(NamedTuple):
    """A certificate and its key: PEM in base64."""

    chain: str
    key: str


@functools.cache
def pair(name: str = "shop.test") -> Pair:
    """A certificate that signs itself. It ended long ago, which is the clients' affair."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(base64.b64encode(certificate.public_bytes(Encoding.PEM)).decode(), base64.b64encode(text).decode())

"""The certificate and the key in a Secret: their bytes, and whether they belong together.

Compilers word what is wrong: no message of this module contains any part of a Secret. ``cryptography`` decodes;
importing it takes longer than `intentc --help`, so it is imported when a Secret is checked.
"""

from __future__ import annotations

import binascii
import enum
from typing import Any

TLS_TYPE = "kubernetes.io/tls"


class Misfit(enum.Enum):
    """What is wrong with a certificate and a key."""

    CERTIFICATE = "certificate"
    """It can't be read as PEM."""
    KEY = "key"
    """It can't be read as PEM without a password."""
    PAIR = "pair"
    """The key is not that of the certificate."""


def content(secret: Any, key: str) -> bytes:
    """The bytes under ``key`` in the view of a Secret; none if they are absent or not base64. A store without a cluster
    keeps ``stringData``."""
    plain = secret.stringData.get(key)
    if isinstance(plain, str) and plain:
        return plain.encode()
    text = secret.data.get(key)
    try:
        return binascii.a2b_base64("".join(text.split()), strict_mode=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""


def certificate_sizes(chain: bytes, key: bytes) -> list[int] | Misfit:
    """The bytes of each certificate of ``chain`` (PEM), as DER; or why ``chain`` and ``key`` (PEM) can't be used."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    undecodable = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion)
    try:
        certificates = x509.load_pem_x509_certificates(chain)
        public = certificates[0].public_key()
    except undecodable:
        return Misfit.CERTIFICATE
    try:
        # A full check of an RSA key takes 40 ms and more; that it belongs to the certificate is checked anyway.
        own = load_pem_private_key(key, password=None, unsafe_skip_rsa_key_validation=True).public_key()
    except undecodable:
        return Misfit.KEY
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if own.public_bytes(*form) != public.public_bytes(*form):
        return Misfit.PAIR
    return [len(one.public_bytes(Encoding.DER)) for one in certificates]

"""Says what is wrong with a Secret that a listener names as its certificate (docs/gateway.md §6).

``cryptography`` decodes; this compiler imports it only here and only when a Secret is checked. Of a Secret, messages
contain its name and type.

It reads the fields of a Secret; no state.
"""

from __future__ import annotations

import base64
import binascii

from intentc import View

_TYPE = "kubernetes.io/tls"


def wrong_with(secret: View) -> str:
    """What is wrong with the Secret; empty if it is a certificate with its key."""
    if secret.type != _TYPE:
        return f"its type is {secret.type or 'Opaque'}; give {_TYPE}"
    parts: dict[str, bytes] = {}
    for key in ("tls.crt", "tls.key"):
        content = _content(secret, key)
        if not content:
            return f"it has no {key}, or one that is not base64"
        parts[key] = content
    return _wrong_with_pair(parts["tls.crt"], parts["tls.key"])


def _content(secret: View, key: str) -> bytes:
    plain = secret.stringData.get(key)
    if isinstance(plain, str) and plain:
        return plain.encode()
    given = secret.data.get(key)
    if not isinstance(given, str):
        return b""
    try:
        return base64.b64decode("".join(given.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _wrong_with_pair(chain: bytes, key: bytes) -> str:
    # Imported here, so that commands without TLS don't load ``cryptography``.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    undecodable = (ValueError, TypeError, x509.InvalidVersion, UnsupportedAlgorithm)
    try:
        public = x509.load_pem_x509_certificates(chain)[0].public_key()
    except undecodable:
        return "its tls.crt is no certificate in PEM"
    try:
        own = load_pem_private_key(key, None).public_key()
    except undecodable:
        return "its tls.key is no private key in PEM"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "" if public.public_bytes(*form) == own.public_bytes(*form) else "its tls.key is not the certificate's"

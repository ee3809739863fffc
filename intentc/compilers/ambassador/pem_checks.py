"""Checks certificates, keys and revocation lists before Envoy does, and says what is wrong with them.

Envoy rejects a secret that it can't read, and nobody who could fix it sees its message; ``secret.py`` puts
these into facts and problems. ``cryptography`` decodes; this module checks what Envoy requires: that the text is PEM,
that each block is what its label says, that a server's key is of a sort and size that Envoy takes, and that the private
key belongs to the certificate. Issuers and validity are left to the clients. A message may contain the label of
a PEM block and the length of an RSA key, but nothing of what is encoded in a block.

Importing ``cryptography`` takes longer than `intentc --help`: import this module when a Secret is checked.
"""

from __future__ import annotations

import binascii
import re
import warnings
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import PublicKeyAlgorithmOID

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATES = ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE")
_KEYS = ("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")
_ALGORITHMS = (PublicKeyAlgorithmOID.RSAES_PKCS1_v1_5, PublicKeyAlgorithmOID.EC_PUBLIC_KEY)
_NEITHER = "it is neither RSA nor elliptic curve (ECDSA), the two that Envoy takes"
_CURVES = {SECP256R1.name: "P-256", SECP384R1.name: "P-384", SECP521R1.name: "P-521"}
_SHORTEST_RSA = 2048
"""Bits. Envoy accepts no shorter key, and no other curves, in a server's certificate."""

_PublicKey = RSAPublicKey | EllipticCurvePublicKey
_UNDECODABLE = (ValueError, x509.InvalidVersion, UnsupportedAlgorithm)


class _Malformed(ValueError):
    """A text is not what it should be. The message may contain labels of its blocks, nothing of what they encode."""


class _Block(NamedTuple):
    """One block of a PEM text: its label and its content."""

    label: str
    content: bytes


def wrong_with_certificate(chain: bytes, key: bytes) -> str:
    """What is wrong with a certificate chain and its key, each as PEM; empty if nothing is."""
    try:
        public = _public_key(_certificates(chain)[0])
    except _Malformed as malformed:
        return f"the certificate can't be read: {malformed}"
    try:
        own = _of_private_key(key)
    except _Malformed as malformed:
        return f"the private key can't be read: {malformed}"
    return "" if own == public else "the private key is not the certificate's"


def wrong_with_authority(chain: bytes) -> str:
    """What is wrong with certificates that verify others, as PEM; empty if nothing is."""
    try:
        _certificates(chain)
    except _Malformed as malformed:
        return f"the certificate authority can't be read: {malformed}"
    return ""


def wrong_with_revocations(listed: bytes) -> str:
    """What is wrong with lists of revoked certificates, as PEM; empty if nothing is."""
    try:
        for block in _blocks(listed):
            _check_label(block, ("X509 CRL",))
            try:
                x509.load_der_x509_crl(block.content)
            except _UNDECODABLE:
                raise _Malformed("the content of its X509 CRL is not one") from None
    except _Malformed as malformed:
        return f"the list of revoked certificates can't be read: {malformed}"
    return ""


def _blocks(text: bytes) -> list[_Block]:
    try:
        found = _BLOCK.findall(text.decode("ascii"))
    except UnicodeDecodeError:
        raise _Malformed("it is not a PEM text") from None
    if not found:
        raise _Malformed("there is no PEM block (-----BEGIN …-----) in it")
    blocks = []
    for label, body in found:
        if "Proc-Type" in body:
            raise _Malformed("it is encrypted; store it without a password")
        try:
            blocks.append(_Block(label, binascii.a2b_base64("".join(body.split()), strict_mode=True)))
        except (binascii.Error, ValueError):
            raise _Malformed(f"{label} is not base64") from None
    return blocks


def _check_label(block: _Block, wanted: tuple[str, ...]) -> None:
    if block.label not in wanted:
        raise _Malformed(f"{block.label} is not {'an' if wanted[0][0] == 'X' else 'a'} {wanted[0]}")


def _certificates(chain: bytes) -> list[x509.Certificate]:
    certificates = []
    for block in _blocks(chain):
        _check_label(block, _CERTIFICATES)
        try:
            with warnings.catch_warnings():
                # Envoy takes a serial number of 0, which old authorities have; a warning would help nobody here.
                warnings.simplefilter("ignore", CryptographyDeprecationWarning)
                certificates.append(x509.load_der_x509_certificate(block.content))
        except _UNDECODABLE:
            raise _Malformed(f"the content of its {block.label} is not one") from None
    return certificates


def _public_key(certificate: x509.Certificate) -> _PublicKey:
    """The key of a server's certificate, which Envoy accepts."""
    if certificate.public_key_algorithm_oid not in _ALGORITHMS:
        raise _Malformed(_NEITHER)
    try:
        public = certificate.public_key()
    except _UNDECODABLE:
        raise _Malformed("its public key can't be decoded") from None
    if isinstance(public, RSAPublicKey):
        if public.key_size < _SHORTEST_RSA:
            raise _Malformed(f"its RSA key has {public.key_size} bits; Envoy accepts none below {_SHORTEST_RSA}")
        return public
    assert isinstance(public, EllipticCurvePublicKey)
    if public.curve.name not in _CURVES:
        raise _Malformed(f"Envoy does not accept its elliptic curve; it accepts {', '.join(_CURVES.values())}")
    return public


def _of_private_key(text: bytes) -> _PublicKey:
    keys = [block for block in _blocks(text) if block.label.endswith("PRIVATE KEY")]
    if not keys:
        raise _Malformed("there is no PRIVATE KEY in it")
    label, content = keys[0]
    if label not in _KEYS:
        raise _Malformed(f"{label} is not supported; store it without a password, as PRIVATE KEY")
    try:
        # A full check of an RSA key takes 40 ms and more; that it has the certificate's modulus is checked anyway.
        public = load_der_private_key(content, password=None, unsafe_skip_rsa_key_validation=True).public_key()
    except (*_UNDECODABLE, TypeError):  # TypeError: it needs a password
        raise _Malformed(f"the content of its {label} is not one") from None
    if not isinstance(public, _PublicKey):
        raise _Malformed(_NEITHER)
    return public

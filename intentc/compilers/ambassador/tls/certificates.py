"""Checks certificates, keys and revocation lists before Envoy does, and says what is wrong with them.

Envoy rejects a secret that it can't read, and nobody who could fix it sees its message; here it is reported on the
Secret and on the Host. Only what is needed for that is parsed: that the text is PEM, that its outer structure is what
the label says, and that the key belongs to the certificate. Issuers and validity are left to the clients. No message
contains any part of a key.
"""

from __future__ import annotations

import binascii
import re
from typing import NamedTuple

from .der import Malformed, Node, children, integer, node

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_RSA = bytes.fromhex("2a864886f70d010101")
_EC = bytes.fromhex("2a8648ce3d0201")
_CURVES = {
    bytes.fromhex("2a8648ce3d030107"): "P-256",
    bytes.fromhex("2b81040022"): "P-384",
    bytes.fromhex("2b81040023"): "P-521",
}
_SHORTEST_RSA = 2048
"""Bits. Envoy accepts no shorter key, and no other curves, in a server's certificate."""
_KEYS = ("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")


class Block(NamedTuple):
    """One block of a PEM text: its label and its content."""

    label: str
    content: bytes


class PublicKey(NamedTuple):
    """``algorithm``: ``RSA`` or ``EC``. ``value``: equal for a certificate and its key; empty if the key lacks it."""

    algorithm: str
    value: bytes


def wrong_with_certificate(chain: bytes, key: bytes) -> str:
    """What is wrong with a certificate chain and its key, each as PEM; empty if nothing is."""
    try:
        certificates = _certificates(chain)
        public = _public_key(certificates[0])
    except Malformed as malformed:
        return f"the certificate can't be read: {malformed}"
    try:
        own = _of_private_key(key)
    except Malformed as malformed:
        return f"the private key can't be read: {malformed}"
    if own.algorithm != public.algorithm or (own.value and own.value != public.value):
        return "the private key is not the certificate's"
    return ""


def wrong_with_authority(chain: bytes) -> str:
    """What is wrong with certificates that verify others, as PEM; empty if nothing is."""
    try:
        for certificate in _certificates(chain):
            _public_key_info(certificate)
    except Malformed as malformed:
        return f"the certificate authority can't be read: {malformed}"
    return ""


def wrong_with_revocations(listed: bytes) -> str:
    """What is wrong with lists of revoked certificates, as PEM; empty if nothing is."""
    try:
        blocks = _blocks(listed)
        for block in blocks:
            if block.label != "X509 CRL":
                raise Malformed(f"{block.label} is not an X509 CRL")
            if len(children(node(block.content))) != 3:
                raise Malformed("an X509 CRL has three parts")
    except Malformed as malformed:
        return f"the list of revoked certificates can't be read: {malformed}"
    return ""


def _blocks(text: bytes) -> list[Block]:
    try:
        found = _BLOCK.findall(text.decode("ascii"))
    except UnicodeDecodeError:
        raise Malformed("it is not a PEM text") from None
    if not found:
        raise Malformed("there is no PEM block (-----BEGIN …-----) in it")
    blocks = []
    for label, body in found:
        if "Proc-Type" in body:
            raise Malformed("it is encrypted; store it without a password")
        try:
            blocks.append(Block(label, binascii.a2b_base64("".join(body.split()), strict_mode=True)))
        except (binascii.Error, ValueError):
            raise Malformed(f"{label} is not base64") from None
    return blocks


def _certificates(chain: bytes) -> list[Node]:
    blocks = _blocks(chain)
    for block in blocks:
        if block.label not in ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"):
            raise Malformed(f"{block.label} is not a CERTIFICATE")
    return [node(block.content) for block in blocks]


def _public_key_info(certificate: Node) -> tuple[Node, ...]:
    """(algorithm, key as bits) of an X.509 certificate (RFC 5280, 4.1)."""
    parts = children(certificate)
    if len(parts) != 3:
        raise Malformed("a certificate has three parts")
    fields = children(parts[0])
    # All but the oldest certificates begin with an explicit version; the sixth field after it is the public key.
    at = 6 if fields and fields[0].tag == 0xA0 else 5
    if len(fields) <= at:
        raise Malformed("a certificate without a public key")
    found = children(fields[at])
    if len(found) != 2:
        raise Malformed("a certificate without a public key")
    return found


def _public_key(certificate: Node) -> PublicKey:
    algorithm, bits = _public_key_info(certificate)
    value = bits.content[1:]  # the first byte of a bit string counts unused bits
    if _algorithm(algorithm) == "RSA":
        numbers = children(node(value))
        if len(numbers) != 2:
            raise Malformed("an RSA key has a modulus and an exponent")
        modulus = integer(numbers[0])
        length = int.from_bytes(modulus, "big").bit_length()
        if length < _SHORTEST_RSA:
            raise Malformed(f"its RSA key has {length} bits; Envoy accepts none below {_SHORTEST_RSA}")
        return PublicKey("RSA", modulus)
    if len(children(algorithm)) < 2 or children(algorithm)[1].content not in _CURVES:
        raise Malformed(f"Envoy does not accept its elliptic curve; it accepts {', '.join(_CURVES.values())}")
    return PublicKey("EC", value)


def _of_private_key(text: bytes) -> PublicKey:
    keys = [block for block in _blocks(text) if block.label.endswith("PRIVATE KEY")]
    if not keys:
        raise Malformed("there is no PRIVATE KEY in it")
    label, content = keys[0]
    if label not in _KEYS:
        raise Malformed(f"{label} is not supported; store it without a password, as PRIVATE KEY")
    outer = children(node(content))
    if label == "RSA PRIVATE KEY":
        return _rsa(outer)
    if label == "EC PRIVATE KEY":
        return _ec(outer)
    if len(outer) < 3:
        raise Malformed("a PRIVATE KEY has three parts")
    inner = children(node(outer[2].content))
    return _rsa(inner) if _algorithm(outer[1]) == "RSA" else _ec(inner)


def _algorithm(identifier: Node) -> str:
    parts = children(identifier)
    found = parts[0].content if parts else b""
    if found == _RSA:
        return "RSA"
    if found == _EC:
        return "EC"
    raise Malformed("it is neither RSA nor elliptic curve (ECDSA), the two that Envoy takes")


def _rsa(fields: tuple[Node, ...]) -> PublicKey:
    """RFC 8017, A.1.2: version, modulus, exponents and primes."""
    if len(fields) < 9:
        raise Malformed("an RSA key has nine parts")
    return PublicKey("RSA", integer(fields[1]))


def _ec(fields: tuple[Node, ...]) -> PublicKey:
    """RFC 5915: version, number, and optionally curve ([0]) and public key ([1])."""
    if len(fields) < 2:
        raise Malformed("an elliptic curve key has at least two parts")
    for field in fields[2:]:
        if field.tag == 0xA1:
            return PublicKey("EC", node(field.content).content[1:])
    return PublicKey("EC", b"")

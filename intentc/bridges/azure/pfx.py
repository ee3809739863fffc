"""Makes the PFX of a certificate from a Secret's chain and key, and compares them with what Azure shows.

The PFX exists in memory only: the document carries a digest and the Secret's name until the moment it is sent. No
message contains any part of a Secret (docs/appgw.md §6.5).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import NamedTuple

PASSWORD = "msazure"  # noqa: S105  # no secret: docs/appgw.md §6.5 names it
"""The password of every PFX, as the original has it: Azure wants one, and it protects nothing."""


class Pair(NamedTuple):
    """The chain and the key in a Secret, both PEM."""

    chain: bytes
    key: bytes

    def __repr__(self) -> str:
        """Without the content."""
        return "Pair(…)"

    @property
    def digest(self) -> str:
        """A hash of both (64 hexadecimal digits), as the compiler computes it."""
        chain, key = self
        return hashlib.sha256(b"%d:%s%d:%s" % (len(chain), chain, len(key), key)).hexdigest()

    def pfx(self) -> str:
        """A PKCS #12 archive of both, in base64. Raises ``ValueError`` if they are no certificate and its key."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
        from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
        from cryptography.x509 import load_pem_x509_certificates

        try:
            leaf, *others = load_pem_x509_certificates(self.chain)
            private = load_pem_private_key(self.key, None)
            archive = serialize_key_and_certificates(
                None,
                private,  # type: ignore[arg-type]  # of a kind that a certificate can have, or it raises TypeError
                leaf,
                others,
                BestAvailableEncryption(PASSWORD.encode()),
            )
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ValueError("the certificate or its key can't be read") from None
        return base64.b64encode(archive).decode()

    def is_in(self, public: str) -> bool:
        """Whether all certificates of the chain are in ``public``: what Azure shows of a certificate
        (``publicCertData``), PKCS #7 in base64. A key belongs to one certificate, so the key is the same, too."""
        from cryptography.hazmat.primitives.serialization import Encoding
        from cryptography.x509 import load_pem_x509_certificates

        try:
            there = base64.b64decode(public)
            chain = [one.public_bytes(Encoding.DER) for one in load_pem_x509_certificates(self.chain)]
        except (ValueError, binascii.Error):
            return False
        return bool(chain) and all(one in there for one in chain)

    def is_replaced_in(self, public: str) -> bool:
        """Whether ``public`` (see ``is_in``) shows certificates, and ours is not among them. False if it can't be read:
        data that are sent for a doubt would be sent again and again."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization.pkcs7 import load_der_pkcs7_certificates
        from cryptography.x509 import load_pem_x509_certificates

        try:
            there = load_der_pkcs7_certificates(base64.b64decode(public))
            leaf = load_pem_x509_certificates(self.chain)[0]
        except (ValueError, UnsupportedAlgorithm):
            return False
        return bool(there) and leaf not in there

"""Makes the PFX of a certificate from a Secret's chain and key; it exists in memory only (docs/appgw.md §6.5).

The document carries a digest and the Secret's name until the moment it is sent. No message contains any part of a
Secret.

Touches: nothing outside memory.
"""

from __future__ import annotations

import base64

PASSWORD = "msazure"  # noqa: S105  # no secret: docs/appgw.md §6.5 names it
"""The password of every PFX, as the original has it: Azure wants one, and it protects nothing."""


def pfx(chain: bytes, key: bytes) -> str:
    """A PKCS #12 archive of a chain and its key (both PEM), in base64. Raises ``ValueError`` for what is not both."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
    from cryptography.x509 import load_pem_x509_certificates

    try:
        leaf, *others = load_pem_x509_certificates(chain)
        private = load_pem_private_key(key, None)
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

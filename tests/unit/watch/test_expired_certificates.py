"""An etcd whose certificate has expired is reported as that, not as one that is not trusted."""

from __future__ import annotations

import grpc
import pytest

from intentc.reconcile.failures import CertificateExpired, Untrusted
from intentc.watch.etcd_messages import store_error
from intentc.watch.source import _reason

HANDSHAKE = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:2379: Tls handshake failed "
    "(TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: "
)


@pytest.mark.parametrize(
    ("why", "sort", "words", "reason"),
    [
        ("certificate has expired: OK", CertificateExpired, "etcd's certificate has expired", "certificate expired"),
        ("certificate is not yet valid: OK", Untrusted, "etcd's certificate is not valid yet", "not trusted"),
        ("self-signed certificate: OK", Untrusted, "etcd's certificate is not trusted", "not trusted"),
    ],
)
def test_what_is_wrong_with_etcds_certificate_is_distinguished(
    why: str, sort: type[Exception], words: str, reason: str
) -> None:
    error = store_error("Range", HANDSHAKE + why, grpc.StatusCode.UNAVAILABLE)
    assert type(error) is sort
    assert words in str(error)
    assert _reason(error) == reason

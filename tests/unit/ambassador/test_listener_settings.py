"""Which settings a Listener may have, and what they mean (docs/ambassador.md §4.3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from intentc.compilers.ambassador.listener import OpenListener, open_listener, socket
from intentc.compilers.ambassador.this_gateway import Unusable


def given(**fields: Any) -> Any:
    binding = fields.pop("binding", {"from": "ALL"})
    labels = fields.pop("labels", {})
    return SimpleNamespace(
        **{
            "fq_name": ("gate", "one"),
            "port": 8443,
            "protocol": "HTTPS",
            "protocolStack": (),
            "securityModel": "XFP",
            "statsPrefix": "",
            "l7Depth": 0,
            "http2MaxConcurrentStreams": 0,
            "hostBinding": SimpleNamespace(
                namespace=SimpleNamespace(**{"from": "", **binding}), selector=SimpleNamespace(matchLabels=labels)
            ),
            **fields,
        }
    )


def opened(**fields: Any) -> OpenListener:
    listener = given(**fields)
    return open_listener(listener, socket(listener))


@pytest.mark.parametrize(
    ("protocol", "http", "tls", "statistics"),
    [
        ("HTTP", True, False, "ingress_http"),
        ("HTTPS", True, True, "ingress_https"),
        ("HTTPPROXY", True, False, "ingress_http"),
        ("HTTPSPROXY", True, True, "ingress_https"),
        ("TCP", False, False, "ingress_tcp_8443"),
        ("TLS", False, True, "ingress_tls_8443"),
    ],
)
def test_a_protocol_stands_for_a_stack(protocol: str, http: bool, tls: bool, statistics: str) -> None:
    listener = opened(protocol=protocol)
    assert (listener.http, listener.tls) == (http, tls)
    assert socket(given(protocol=protocol)).statistics == statistics


@pytest.mark.parametrize(
    "field", [{"l7Depth": 2**32}, {"l7Depth": -1}, {"http2MaxConcurrentStreams": 2**31}], ids=lambda field: str(field)
)
def test_a_number_that_envoy_has_no_room_for_is_rejected(field: dict[str, int]) -> None:
    """The API server has the same bounds; etcd has none."""
    with pytest.raises(Unusable, match=next(iter(field))):
        opened(**field)


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol": ""},
        {"protocolStack": ("HTTP", "TCP")},
        {"protocol": "SPDY"},
        {"protocol": "", "protocolStack": ("HTTP",)},
        {"protocol": "", "protocolStack": ("HTTP", "HTTP", "TCP")},
        {"protocol": "", "protocolStack": ("ICMP", "TCP")},
        {"port": 0},
        {"port": 65536},
        {"securityModel": "TRUST"},
        {"binding": {}},
    ],
)
def test_what_makes_no_sense_is_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(Unusable) as rejected:
        opened(**fields)
    assert rejected.value.reason == "Unusable"

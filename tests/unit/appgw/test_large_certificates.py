"""A chain that Azure would not take closes its names, and rejects nothing of others (docs/appgw.md §6.5)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, secret, service

pytestmark = pytest.mark.anyio
TLS = [{"hosts": ["shop.test"], "secretName": "account"}]


@pytest.mark.parametrize(("times", "is_served"), [(10, True), (100, False)])
async def test_a_chain_over_16_kilobytes_is_not_served(compiled: Any, times: int, is_served: bool) -> None:
    chain = base64.b64encode(base64.b64decode(pair().chain) * times).decode()
    web = ingress("web", rule("shop.test", ("/", "Prefix", "cart")), tls=TLS)
    given = (service("cart"), endpoint_slice("cart", "10.0.0.1"), web, secret("account", chain, pair().key))
    found = await compiled().given(*given)
    assert (found.listener("shop.test", "Https") is not None) == is_served
    assert found.problems == ([] if is_served else [("shop:web", "SecretInvalid")])

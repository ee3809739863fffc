"""What the publisher writes is an input: a rejection leaves an Ingress out, a publication gives it addresses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, service

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
WEB = ingress("web", rule("shop.test", ("/", "Prefix", "cart")))


def record(kind: str, **fields: Any) -> Manifest:
    return {"kind": f"appgw_{kind}", "data": {"fq_name": ["shop", "web"], "ingress": "shop:web", **fields}}


async def test_a_rejected_ingress_is_left_out_until_it_changes(compiled: Any) -> None:
    found = await compiled().given(*CART, WEB)
    (owner,) = found.all("owner")
    await found.service.create(record("rejection", digest=owner["digest"], code="PathRuleInvalid", message="no"))
    assert found.sites() == ["Http 80"]
    assert found.problems == [("shop:web", "Rejected")]
    await found.service.update(ingress("web", rule("other.test", ("/", "Prefix", "cart"))))
    assert found.sites() == ["Http 80 other.test"]
    assert found.problems == []


async def test_an_ingress_has_the_addresses_under_which_it_is_served(compiled: Any) -> None:
    found = await compiled().given(*CART, WEB)
    assert found.service.status("ingress", ("shop", "web")) == {}
    await found.service.create(record("publication", addresses=[{"ip": "20.1.2.3"}]))
    expected = {"loadBalancer": {"ingress": [{"ip": "20.1.2.3"}]}}
    assert found.service.status("ingress", ("shop", "web")) == expected
    await found.service.delete(record("publication"))
    assert found.service.status("ingress", ("shop", "web")) == {}


async def test_an_ingress_of_another_class_has_none(compiled: Any) -> None:
    found = await compiled().given(*CART, WEB, record("publication", addresses=[{"ip": "20.1.2.3"}]))
    other = ingress("web", rule("shop.test", ("/", "Prefix", "cart")))
    other["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "other"}
    await found.service.update(other)
    assert found.service.status("ingress", ("shop", "web")) == {}
    assert found.sites() == ["Http 80"]

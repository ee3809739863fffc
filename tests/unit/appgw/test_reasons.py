"""Why a routing rule, a path rule, and a pool exist: the Ingress, and its field."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.inspection.part_sources import parts_of
from intentc.model import Name
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, service

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))


def reasons(found: Any, kind: str, part: str = "") -> set[str]:
    """The sources of each reason of the only object of a kind."""
    (one,) = found.all(kind)
    view = found.service.offline.engine
    given = parts_of(view, Name(one["kind"], tuple(one["fq_name"])))[part]
    return {" + ".join(f"{s.kind} {s.name} {s.field}".strip() for s in reason.sources) for reason in given}


async def test_a_rule_exists_because_of_the_rules_of_ingresses(compiled: Any) -> None:
    one, other = (ingress(name, rule("shop.test", (f"/{name}", "Exact", "cart"))) for name in ("one", "other"))
    found = await compiled().given(*CART, one, other)
    both = {"ingress shop:one rules[0]", "ingress shop:other rules[0]"}
    assert reasons(found, "rule") == reasons(found, "listener") == reasons(found, "path_map") == both
    first = reasons(found, "path_map", "config.properties.pathRules[0]")
    assert first == {"ingress shop:other rules[0].http.paths[0]"}


async def test_a_pool_exists_because_of_an_ingress(compiled: Any) -> None:
    found = await compiled().given(*CART, ingress("web", rule("shop.test", ("/", "Prefix", "cart"))))
    assert any(reason.startswith("ingress shop:web") for reason in reasons(found, "pool"))

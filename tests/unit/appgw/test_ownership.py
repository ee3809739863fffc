"""Which Ingresses belong to the gateway (docs/appgw.md §3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.appgw.manifests import Manifest, ingress, rule, service

pytestmark = pytest.mark.anyio
CLASS = "azure-application-gateway"
CONTROLLER = "azure/application-gateway"
OLD = "kubernetes.io/ingress.class"


def ingress_class(name: str = CLASS, controller: str = CONTROLLER, default: str = "") -> Manifest:
    annotations = {"ingressclass.kubernetes.io/is-default-class": default} if default else {}
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass"}
    return {**kind, "metadata": {"name": name, "annotations": annotations}, "spec": {"controller": controller}}


def web(annotation: str = "", name: str = "") -> Manifest:
    found = ingress("web", rule("shop.test", ("/", "Prefix", "cart")))
    if name:
        found["spec"]["ingressClassName"] = name
    found["metadata"]["annotations"] = {OLD: annotation} if annotation else {}
    return found


@pytest.mark.parametrize(
    ("given", "settings", "is_ours"),
    [
        ([web(CONTROLLER)], {}, True),
        ([web("other"), ingress_class(default="true")], {}, False),
        ([web("other")], {"kubernetes.ingressClass": "other"}, True),
        ([web(CONTROLLER)], {"INGRESS_CLASS": "other"}, False),
        ([web(name=CLASS), ingress_class()], {}, True),
        ([web(name=CLASS)], {}, False),
        ([web(name=CLASS), ingress_class(controller="other")], {}, False),
        ([web(name="own"), ingress_class("own")], {"kubernetes.ingressClassResource.name": "own"}, True),
        ([web(name="own"), ingress_class("own")], {}, False),
        ([web(name=CLASS), ingress_class()], {"INGRESS_CLASS_RESOURCE_ENABLED": "false"}, False),
        ([web()], {}, False),
        ([web()], {"kubernetes.ingressClassResource.default": True}, True),
        ([web(), ingress_class(default="true")], {}, True),
        ([web(), ingress_class(default="true", controller="other")], {}, False),
        ([web("other", CLASS), ingress_class()], {}, False),
    ],
)
async def test_the_class_decides(compiled: Any, given: list[Manifest], settings: dict[str, Any], is_ours: bool) -> None:
    found = await compiled(**settings).given(service("cart"), *given)
    assert (found.listener("shop.test") is not None) == is_ours


async def test_an_ingress_that_becomes_anothers_loses_all(compiled: Any) -> None:
    found = await compiled().given(service("cart"), web(CONTROLLER))
    await found.service.update(web("other"))
    assert found.listener("shop.test") is None
    assert found.all("owner") == found.all("path_map") == []

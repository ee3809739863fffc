"""Two documents mean the same if Azure would serve the same with them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from intentc.bridges.azure.normalize import ServerDefaults, dangling, differing_parts
from intentc.dev.resource_manager import ResourceManager
from tests.support.azure_gateway import item, reference, small_gateway


def test_what_azure_adds_makes_no_difference() -> None:
    shown = ResourceManager(small_gateway(), lambda: 0.0).get()
    assert shown != small_gateway()
    assert differing_parts(shown, small_gateway()) == []


def test_ids_are_compared_without_case() -> None:
    document = small_gateway()
    listener = document["properties"]["httpListeners"][0]["properties"]
    listener["frontendPort"] = {"id": listener["frontendPort"]["id"].upper()}
    assert differing_parts(document, small_gateway()) == []


def test_the_order_of_a_collection_makes_no_difference() -> None:
    one, other = small_gateway(), small_gateway()
    ports = [item("frontendPorts", "a", port=1), item("frontendPorts", "b", port=2)]
    one["properties"]["frontendPorts"] += ports
    other["properties"]["frontendPorts"] = ports[::-1] + other["properties"]["frontendPorts"]
    assert differing_parts(one, other) == []


def test_the_order_of_path_rules_makes_a_difference() -> None:
    rules = [{"name": "a", "properties": {"paths": ["/a"]}}, {"name": "b", "properties": {"paths": ["/b"]}}]
    one, other = small_gateway(), small_gateway()
    one["properties"]["urlPathMaps"] = [item("urlPathMaps", "map", pathRules=rules)]
    other["properties"]["urlPathMaps"] = [item("urlPathMaps", "map", pathRules=rules[::-1])]
    assert differing_parts(one, other) == ["urlPathMaps/map"]


def test_the_data_of_a_certificate_makes_no_difference() -> None:
    one, other = small_gateway(), small_gateway()
    one["properties"]["sslCertificates"] = [item("sslCertificates", "cert", data="AAAA", password="msazure")]
    other["properties"]["sslCertificates"] = [
        item("sslCertificates", "cert", publicCertData="BBBB", httpListeners=[reference("httpListeners", "shop")])
    ]
    assert differing_parts(one, other) == []


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "httpListeners/shop": lambda given: given["httpListeners"][0]["properties"].update(hostNames=["x.example"]),
    "backendAddressPools/pool": lambda given: given["backendAddressPools"][0]["properties"].clear(),
    "requestRoutingRules/shop": lambda given: given["requestRoutingRules"][0]["properties"].update(priority=7),
    "frontendPorts/p80": lambda given: given["frontendPorts"].clear(),
    "enableHttp2": lambda given: given.update(enableHttp2=True),
}


@pytest.mark.parametrize(("part", "edit"), EDITS.items(), ids=EDITS.keys())
def test_what_is_served_makes_a_difference(part: str, edit: Callable[[dict[str, Any]], None]) -> None:
    changed = copy.deepcopy(small_gateway())
    edit(changed["properties"])
    assert differing_parts(changed, small_gateway()) == [part]


def test_a_tag_makes_a_difference() -> None:
    changed = {**small_gateway(), "tags": {"team": "shop"}}
    assert differing_parts(changed, small_gateway()) == ["tags"]


def test_a_property_that_azure_filled_in_is_no_difference() -> None:
    learned, shown = ServerDefaults(), small_gateway()
    shown["properties"]["probes"] = [item("probes", "probe", protocol="Http", newest="7")]
    wanted = small_gateway()
    wanted["properties"]["probes"] = [item("probes", "probe", protocol="Http")]
    assert differing_parts(wanted, shown, learned) == ["probes/probe"]
    learned.accepted(wanted, shown)
    assert differing_parts(wanted, shown, learned) == []
    shown["properties"]["probes"][0]["properties"]["newest"] = "8"
    assert differing_parts(wanted, shown, learned) == ["probes/probe"]


def test_a_reference_to_what_the_document_lacks_is_found() -> None:
    document = ResourceManager(small_gateway(), lambda: 0.0).get()
    assert dangling(document) == ""
    document["properties"]["backendAddressPools"] = []
    assert dangling(document).endswith("/backendaddresspools/pool")

"""The encoding of an element's JSON, and the errors that are found without an Envoy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.bridges.xds.elements import Element, Malformed, decode_element, digest
from intentc.bridges.xds.encoding import Unencodable, encode
from intentc.compilers.ambassador import envoy_elements as compiler_elements
from intentc.model.events import Change
from tests.unit.bridges.xds.served_world import cluster, eds_cluster, listener, route, virtual_host


@pytest.mark.parametrize("config", [{}, {"b": 1, "a": [1.5, "ü", None, True]}, {"x": {"z": {}, "y": []}}])
def test_the_digest_is_the_one_that_compilers_compute(config: dict[str, Any]) -> None:
    assert digest(config) == compiler_elements.digest(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"name": "c", "tpye": "STATIC"}, 'no field named "tpye"'),
        ({"name": "c", "connect_timeout": "soon"}, "connect_timeout"),
        ({"name": "c", "transport_socket": {"typed_config": {"@type": "x/unknown.Message"}}}, "unknown.Message"),
        ({"type": "STATIC"}, "name is missing"),
    ],
)
def test_an_invalid_message_is_rejected_in_one_line_that_names_it(config: dict[str, Any], message: str) -> None:
    with pytest.raises(Unencodable, match=message) as rejected:
        encode(Element("envoy_cluster", "c", 1, config))
    assert "\n" not in str(rejected.value)


def test_a_route_refers_to_the_clusters_it_sends_to_weighted_mirrored_or_plain() -> None:
    action = {
        "weighted_clusters": {"clusters": [{"name": "a", "weight": 1}, {"name": "b", "weight": 1}]},
        "request_mirror_policies": [{"cluster": "shadow"}],
    }
    assert route("r", route=action).clusters == ("a", "b", "shadow")


def test_a_listener_refers_to_the_clusters_of_its_extensions() -> None:
    assert listener("l", refers_to="als").clusters == ("als",)


def test_a_cluster_asks_for_endpoints_by_its_service_name_or_its_own() -> None:
    assert eds_cluster("c").endpoints == "c"
    assert eds_cluster("c", eds_cluster_config={"service_name": "s"}).endpoints == "s"
    assert cluster("c").endpoints == ""


def test_versions_that_envoy_cannot_distinguish_are_the_same() -> None:
    assert route("r", revision=1).same(route("r", revision=2))
    assert not route("r").same(route("r", cluster="other"))
    assert not route("r").same(route("r", sort_key="other"))
    assert not virtual_host("a").same(virtual_host("a", head=({"match": {"prefix": "/"}},)))


@pytest.mark.parametrize("value", [b"", b"[]", b'{"config": {}}', b'{"fq_name": ["a"], "head": 3}'])
def test_a_value_that_is_no_element_is_reported_with_its_key(value: bytes) -> None:
    with pytest.raises(Malformed, match="envoy_route/u"):
        decode_element(Change("envoy_route", "u", value, 1, 1))


def test_one_route_as_head_is_read_as_a_list_of_one() -> None:
    head = {"match": {"prefix": "/"}}
    value = msgspec.json.encode({"fq_name": ["rc", "d"], "head": head, "domain": "d", "route_configuration": "rc"})
    assert decode_element(Change("envoy_virtual_host", "u", value, 1, 1)).head == (head,)

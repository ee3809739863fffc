"""Bootstraps: with an xDS server, and static."""

from __future__ import annotations

import pytest

from intentc.bridges.xds.bootstrap import XDS_CLUSTER, Address, bootstrap, static_bootstrap
from intentc.bridges.xds.elements import Element
from intentc.bridges.xds.encoding import Unencodable

ADS = {"ads": {}, "resource_api_version": "V3"}


def test_ads_requests_everything_from_one_server_in_the_configured_dialect() -> None:
    document = bootstrap(Address("127.0.0.1", 8003), node="gateway-1", incremental=False)
    resources = document["dynamic_resources"]
    assert resources["ads_config"]["api_type"] == "GRPC"
    assert resources["ads_config"]["grpc_services"] == [{"envoy_grpc": {"cluster_name": XDS_CLUSTER}}]
    assert resources["cds_config"] == resources["lds_config"] == ADS
    assert document["node"]["id"] == "gateway-1"
    assert "admin" not in document
    assert bootstrap(Address("h", 1))["dynamic_resources"]["ads_config"]["api_type"] == "DELTA_GRPC"


def test_a_static_configuration_has_routes_endpoints_and_secrets_in_their_places() -> None:
    manager = {
        "@type": (
            "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
        ),
        "rds": {"route_config_name": "rc", "config_source": ADS},
    }
    tls = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": {"tls_certificate_sds_secret_configs": [{"name": "s", "sds_config": ADS}]},
    }
    chain = {
        "filters": [{"name": "http", "typed_config": manager}],
        "transport_socket": {"name": "tls", "typed_config": tls},
    }
    route = {"name": "r", "match": {"prefix": "/"}, "route": {"cluster": "c"}}
    host = Element("envoy_virtual_host", "rc:*", 1, {}, route_configuration="rc", domain="*", scopes=("",))
    document = static_bootstrap(
        [
            Element("envoy_listener", "l", 1, {"name": "l", "filter_chains": [chain]}),
            host,
            Element("envoy_route", "r", 1, route, tables=("|*",), sort_key="1", clusters=("c",)),
            Element(
                "envoy_cluster",
                "c",
                1,
                {"name": "c", "type": "EDS", "eds_cluster_config": {"service_name": "e", "eds_config": ADS}},
            ),
            Element("envoy_endpoints", "e", 1, {"cluster_name": "e", "endpoints": [{"priority": 1}]}),
            Element("envoy_secret", "s", 1, {"name": "s"}),
        ]
    )["static_resources"]
    [listener], [cluster] = document["listeners"], document["clusters"]
    [built_chain] = listener["filter_chains"]
    config = built_chain["filters"][0]["typed_config"]
    assert "rds" not in config
    assert [one["name"] for one in config["route_config"]["virtual_hosts"][0]["routes"]] == ["r"]
    certificates = built_chain["transport_socket"]["typed_config"]["common_tls_context"]
    assert certificates == {"tls_certificate_sds_secret_configs": [{"name": "s"}]}
    assert cluster == {
        "name": "c",
        "type": "STATIC",
        "load_assignment": {"cluster_name": "c", "endpoints": [{"priority": 1}]},
    }
    assert document["secrets"] == [{"name": "s"}]


def test_only_an_element_that_is_no_message_is_left_out_and_reported() -> None:
    left_out: list[tuple[str, str]] = []
    good = Element("envoy_cluster", "good", 1, {"name": "good"})
    bad = Element("envoy_cluster", "bad", 1, {"name": "bad", "nonsense": 1})
    found = static_bootstrap([bad, good], left_out=lambda element, error: left_out.append((element.name, str(error))))
    assert [cluster["name"] for cluster in found["static_resources"]["clusters"]] == ["good"]
    [(name, error)] = left_out
    assert name == "bad" and "nonsense" in error
    with pytest.raises(Unencodable, match="nonsense"):
        static_bootstrap([bad, good])

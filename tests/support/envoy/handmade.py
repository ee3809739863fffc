"""Elements of Envoy written by hand, put into a store as a compiler would have the API server put them."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from intentc.watch.keys import Layout
from intentc.watch.protocol import Delete, Operation, Put, Store, prefix_end

LAYOUT = Layout.of("/gateway/")
CONFIGURATION = "ns/http|cleartext"
_FILTERS = "type.googleapis.com/envoy.extensions.filters"


def element_key(kind: str, *fq_name: str) -> str:
    """Where an element stands in the store."""
    return LAYOUT.key(kind, str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}:{':'.join(fq_name)}")))


def element(kind: str, *fq_name: str, **properties: Any) -> Put:
    """What puts an element into the store."""
    key = element_key(kind, *fq_name)
    value = {"uuid": key.rpartition("/")[2], "fq_name": list(fq_name), **properties}
    return Put(key, msgspec.json.encode(value))


def gone(kind: str, *fq_name: str) -> Delete:
    """What takes an element out of the store."""
    return Delete(element_key(kind, *fq_name))


def origins(name: str, field: str = "") -> list[dict[str, str]]:
    """As the compiler gives them."""
    return [{"kind": "mapping", "name": f"ns:{name}", "field": field}]


def cluster(name: str, port: int, **config: Any) -> Put:
    """A cluster with one endpoint on loopback."""
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    whole = {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": name, "endpoints": endpoints},
    }
    return element("envoy_cluster", name, config=whole | config, origins=origins(name))


def eds_cluster(name: str, **config: Any) -> Put:
    """A cluster that asks for its endpoints."""
    source = {"ads": {}, "resource_api_version": "V3"}
    whole = {"name": name, "type": "EDS", "connect_timeout": "1s", "eds_cluster_config": {"eds_config": source}}
    return element("envoy_cluster", name, config=whole | config, origins=origins(name))


def endpoints(name: str, *ports: int) -> Put:
    """The endpoints of ``eds_cluster``."""
    hosts = [
        {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}} for port in ports
    ]
    config = {"cluster_name": name, "endpoints": [{"lb_endpoints": hosts}]}
    return element("envoy_endpoints", name, config=config, origins=origins(name))


def route(name: str, prefix: str, cluster: str, *, tables: tuple[str, ...] = ("|*",), **config: Any) -> Put:
    """A route by prefix, longer ones first."""
    whole = {"name": name, "match": {"prefix": prefix}, "route": {"cluster": cluster}} | config
    return element(
        "envoy_route",
        name,
        tables=list(tables),
        sort_key=f"{len(prefix):010d}\t{name}",
        clusters=[cluster],
        config=whole,
        origins=origins(name),
    )


def virtual_host(domain: str, *, configuration: str = CONFIGURATION, **properties: Any) -> Put:
    """A virtual host without a selector."""
    given = {"scopes": [""], "config": {}, "head": []} | properties
    named = {"route_configuration": configuration, "domain": domain}
    return element("envoy_virtual_host", configuration, domain, **named, **given, origins=origins(domain))


def listener(name: str, port: int, *, configuration: str = CONFIGURATION, **config: Any) -> Put:
    """A cleartext listener on loopback."""
    source = {"ads": {}, "resource_api_version": "V3"}
    router = {"name": "router", "typed_config": {"@type": f"{_FILTERS}.http.router.v3.Router"}}
    manager = {
        "@type": f"{_FILTERS}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "ingress_http",
        "rds": {"route_config_name": configuration, "config_source": source},
        "http_filters": [router],
    }
    whole = {
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    return element("envoy_listener", *name.split("/"), config=whole | config, origins=origins(name))


async def write(store: Store, *operations: Operation) -> int:
    """All of them in one revision, which is returned."""
    return (await store.transaction([], operations)).revision


async def rejections(store: Store) -> dict[str, dict[str, Any]]:
    """The records of rejections in the store, by the name of the element."""
    prefix = f"{LAYOUT.prefix}envoy_rejection/"
    found = (await store.range(prefix, prefix_end(prefix))).items
    values = (msgspec.json.decode(item.value) for item in found)
    return {value["element_name"]: value for value in values}

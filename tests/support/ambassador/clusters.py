"""Mappings with Services, Endpoints and resolvers, and the clusters that follow from them.

Each cluster and assignment is read as Envoy reads it (``parsed`` and ``ParseDict`` reject what the protobuf does not
know), whatever the test asks of it.
"""

from __future__ import annotations

from typing import Any

import envoy.extensions.clusters.dns.v3.dns_cluster_pb2
import envoy.extensions.transport_sockets.tls.v3.tls_pb2
import envoy.extensions.upstreams.http.v3.http_protocol_options_pb2  # noqa: F401 - json_format finds them by their names
from envoy.config.cluster.v3.cluster_pb2 import Cluster
from envoy.config.endpoint.v3.endpoint_pb2 import ClusterLoadAssignment
from google.protobuf.json_format import ParseDict

from intentc.bridges.xds.encoding import parsed
from intentc.testing import Problem
from tests.support.ambassador.hosts import MemoryGateway, manifest
from tests.support.ambassador.mappings import EVERYTHING, mapping

NAMESPACE = "shop"


def service(name: str = "echo", *ports: dict[str, Any], namespace: str = NAMESPACE) -> dict[str, Any]:
    """A Service with port 80, unless others are given."""
    spec = {"ports": list(ports) or [{"port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def endpoints(*subsets: dict[str, Any], name: str = "echo", namespace: str = NAMESPACE) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": list(subsets)}


def subset(*addresses: str, port: int = 8080, name: str = "", not_ready: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "addresses": [{"ip": address} for address in addresses],
        "notReadyAddresses": [{"ip": address} for address in not_ready],
        "ports": [{"name": name, "port": port}],
    }


def resolver(kind: str, name: str, namespace: str = NAMESPACE, **spec: Any) -> dict[str, Any]:
    return manifest(kind, name, spec, namespace)


class Clusters:
    """The clusters that follow from Mappings."""

    def __init__(self, gate: MemoryGateway) -> None:
        self.gate = gate

    @property
    def configs(self) -> dict[str, dict[str, Any]]:
        """Name → configuration."""
        found = {name: element["config"] for name, element in self.gate.elements("envoy_cluster").items()}
        for name, config in found.items():
            assert parsed(config, Cluster()).name == name
        return found

    @property
    def only(self) -> dict[str, Any]:
        (config,) = self.configs.values()
        return config

    @property
    def assignments(self) -> dict[str, list[tuple[str, int]]]:
        """Cluster's name → its endpoints, as they are sent by EDS."""
        found = {name: element["config"] for name, element in self.gate.elements("envoy_endpoints").items()}
        assert all(ParseDict(config, ClusterLoadAssignment()).cluster_name == name for name, config in found.items())
        return {name: addresses(config) for name, config in found.items()}

    @property
    def endpoints(self) -> list[tuple[str, int]]:
        """The endpoints of the only cluster, inline or sent by EDS."""
        config = self.only
        if config.get("type") == "EDS":
            return self.assignments[config["name"]]
        return addresses(config["load_assignment"])

    @property
    def problems(self) -> list[tuple[str, str, str]]:
        """(kind, namespace:name, reason)"""
        return self.gate.problems()

    @property
    def problem(self) -> Problem:
        (problem,) = self.gate.service.problems
        return problem


def addresses(assignment: dict[str, Any]) -> list[tuple[str, int]]:
    sockets = [
        endpoint["endpoint"]["address"]["socket_address"]
        for locality in assignment["endpoints"]
        for endpoint in locality["lb_endpoints"]
    ]
    return [(socket["address"], socket["port_value"]) for socket in sockets]


async def clusters(*resources: dict[str, Any], settings: dict[str, Any] | None = None) -> Clusters:
    return Clusters(await MemoryGateway(settings).apply(*EVERYTHING, *resources))


async def cluster_of(*resources: dict[str, Any], settings: dict[str, Any] | None = None, **spec: Any) -> Clusters:
    """Those of one Mapping ``shop:m``."""
    return await clusters(mapping("m", NAMESPACE, **spec), *resources, settings=settings)

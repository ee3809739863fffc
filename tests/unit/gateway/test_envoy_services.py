"""Envoy's Service: what parameters of load balancers put on it, its addresses and ports (docs/gateway.md §6, §8)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.gateway.children import envoy_service
from intentc.compilers.gateway.instance import Images, Instance, LoadBalancer, Port, Publishing, Resource

BETA = "service.beta.kubernetes.io"
CLASSIC = {f"{BETA}/aws-load-balancer-backend-protocol": "tcp", f"{BETA}/aws-load-balancer-proxy-protocol": "*"}
NLB = {f"{BETA}/aws-load-balancer-type": "nlb"}
GCP = {"cloud.google.com/load-balancer-type": "Internal", "networking.gke.io/load-balancer-type": "Internal"}


def provisioned_ports(*numbers: int, type_: Any = "NodePortService") -> dict[int, int | None]:
    """Port → its nodePort, of a Service in layout P."""
    instance = Instance(
        layout="provisioner",
        namespace="edge",
        images=Images("contour:v1.33.7", "envoy:v1.38.4"),
        gateway=Resource("edge", "main"),
        ports=tuple(Port(number, "http") for number in numbers),
        publishing=Publishing(type=type_, load_balancer=None),
    )
    ports = envoy_service(instance).manifest["spec"]["ports"]
    return {port["port"]: port.get("nodePort") for port in ports}


def test_a_port_that_nodes_can_have_is_also_theirs() -> None:
    found = provisioned_ports(80, 29999, 30000, 32767, 32768)
    assert found == {80: None, 29999: None, 30000: 30000, 32767: 32767, 32768: None}
    assert provisioned_ports(30000, type_="LoadBalancerService") == {30000: None}


def service(publishing: Publishing, addresses: tuple[str, ...] = ()) -> dict[str, Any]:
    instance = Instance(
        layout="operator",
        namespace="edge",
        images=Images("contour:v1.17.0", "envoy:v1.18.3"),
        contour=Resource("edge", "main"),
        publishing=publishing,
        addresses=addresses,
    )
    return dict(envoy_service(instance).manifest)


@pytest.mark.parametrize(
    ("wanted", "annotations"),
    [
        (LoadBalancer(), CLASSIC),
        (LoadBalancer(scope="Internal"), {**CLASSIC, f"{BETA}/aws-load-balancer-internal": "true"}),
        (LoadBalancer(aws_type="NLB"), NLB),
        (
            LoadBalancer(aws_type="NLB", allocation_ids=("eip-1", "eip-2")),
            {**NLB, f"{BETA}/aws-load-balancer-eip-allocations": "eip-1,eip-2"},
        ),
        (
            LoadBalancer(aws_type="NLB", scope="Internal", allocation_ids=("eip-1",)),
            {**NLB, f"{BETA}/aws-load-balancer-internal": "true"},
        ),
        (LoadBalancer(provider="Azure"), {}),
        (
            LoadBalancer(provider="Azure", resource_group="rg", subnet="edge"),
            {f"{BETA}/azure-load-balancer-resource-group": "rg"},
        ),
        (
            LoadBalancer(provider="Azure", scope="Internal", resource_group="rg", subnet="edge"),
            {f"{BETA}/azure-load-balancer-internal": "true", f"{BETA}/azure-load-balancer-internal-subnet": "edge"},
        ),
        (LoadBalancer(provider="GCP", subnet="edge"), {}),
        (
            LoadBalancer(provider="GCP", scope="Internal", subnet="edge"),
            {**GCP, "networking.gke.io/internal-load-balancer-subnet": "edge"},
        ),
    ],
)
def test_the_provider_and_the_scope_decide_the_annotations(wanted: LoadBalancer, annotations: dict[str, str]) -> None:
    assert service(Publishing(load_balancer=wanted))["metadata"].get("annotations", {}) == annotations


@pytest.mark.parametrize("kind", ["NodePortService", "ClusterIPService"])
def test_only_load_balancers_have_annotations(kind: Any) -> None:
    assert "annotations" not in service(Publishing(type=kind))["metadata"]


def test_the_address_of_the_parameters_is_the_load_balancers() -> None:
    spec = service(Publishing(load_balancer=LoadBalancer(provider="GCP", address="192.0.2.1")))["spec"]
    assert spec["loadBalancerIP"] == "192.0.2.1"


def test_the_gateways_address_beats_that_of_the_parameters() -> None:
    publishing = Publishing(load_balancer=LoadBalancer(provider="Azure", address="192.0.2.1"))
    assert service(publishing, ("192.0.2.9",))["spec"]["loadBalancerIP"] == "192.0.2.9"


def test_without_an_address_the_cluster_chooses_one() -> None:
    assert not {"loadBalancerIP", "clusterIP", "clusterIPs"} & service(Publishing())["spec"].keys()


def test_one_address_in_the_cluster_is_the_whole_list() -> None:
    spec = service(Publishing(type="ClusterIPService"), ("10.0.0.7",))["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("10.0.0.7", ["10.0.0.7"])
    assert "externalTrafficPolicy" not in spec


def test_ports_of_nodes_have_no_addresses() -> None:
    assert (
        not {"loadBalancerIP", "clusterIP"} & service(Publishing(type="NodePortService"), ("10.0.0.7",))["spec"].keys()
    )

"""The parameters of an instance, checked, as a Contour of operator.projectcontour.io says them (docs/gateway.md §5).

The defaults are those of an instance without any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from intentc import Context, View

from .gateway_addresses import ip_address
from .instance import ContourPods, EnvoyPods, Json, LoadBalancer, Pairs, Placement, Publishing, Resource


class Parameters(NamedTuple):
    """``contour``: the Contour that they stand in, None for others. ``namespace``: where that Contour wants its
    instance, empty: it says nothing. ``removes_namespace``: the namespace ends with the instance."""

    contour: Resource | None = None
    namespace: str = ""
    removes_namespace: bool = False
    ingress_class: str = ""
    contour_pods: ContourPods = ContourPods()
    envoy_pods: EnvoyPods = EnvoyPods()
    publishing: Publishing = Publishing()
    resource_labels: Pairs = ()
    runtime_settings: Json = ""


WITHOUT_OPERATOR = Parameters(publishing=Publishing(load_balancer=LoadBalancer()))
"""Layout O without parameters."""
WITHOUT_PROVISIONER = Parameters(publishing=Publishing(load_balancer=None))
"""Layout P without parameters."""


class Checked(NamedTuple):
    """``parameters`` as far as they can be read, and what is wrong with them: texts for people, sorted as the fields
    are; none if they are valid."""

    parameters: Parameters
    faults: tuple[str, ...] = ()


def pairs(given: Mapping[str, Any]) -> Pairs:
    return tuple(sorted((key, value if isinstance(value, str) else str(value)) for key, value in given.items()))


def placement(given: Any) -> Placement:
    return Placement(pairs(given.nodeSelector), given.tolerations.text)


_NAMES = frozenset({"http", "https"})
_TYPES = ("LoadBalancerService", "NodePortService", "ClusterIPService")
_SCOPES = ("External", "Internal")
_PROVIDERS = ("AWS", "Azure", "GCP")
_AWS_TYPES = ("Classic", "NLB")


def contour_parameters(ctx: Context, contour: View) -> Checked:
    """The parameters in a Contour, and what is wrong with them."""
    envoy = contour.networkPublishing.envoy
    faults = [*_envoy_faults(envoy)]
    if contour.replicas < 0:
        faults.append(f"replicas {contour.replicas}; give at least 0")
    ingress_class = contour.ingressClassName
    if ingress_class and ctx.find("ingress_class", (ingress_class,)) is None:
        faults.append(f"ingressClassName {ingress_class!r} names no IngressClass; create it")
    namespace = contour.field("namespace")
    if not namespace.name:
        faults.append("namespace.name is empty")
    if faults:
        return Checked(
            Parameters(Resource(*contour.fq_name), namespace.name, namespace.removeOnDeletion), tuple(faults)
        )
    ports = {port.name: port.portNumber for port in envoy.containerPorts} or {"http": 8080, "https": 8443}
    given = Parameters(
        contour=Resource(*contour.fq_name),
        namespace=namespace.name,
        removes_namespace=namespace.removeOnDeletion,
        ingress_class=ingress_class,
        contour_pods=ContourPods(replicas=contour.replicas, placement=placement(contour.nodePlacement.contour)),
        envoy_pods=EnvoyPods(
            http_port=ports["http"], https_port=ports["https"], placement=placement(contour.nodePlacement.envoy)
        ),
        publishing=Publishing(
            type=envoy.type,
            load_balancer=_load_balancer(envoy.loadBalancer),
            node_ports=tuple(sorted((p.name, p.portNumber) for p in envoy.nodePorts if p.portNumber is not None)),
        ),
    )
    return Checked(given)


def _envoy_faults(envoy: Any) -> Iterator[str]:
    where = "networkPublishing.envoy"
    if envoy.type not in _TYPES:
        yield f"{where}.type {envoy.type!r}; give {', '.join(_TYPES)}"
    yield from _port_faults(f"{where}.containerPorts", [(p.name, p.portNumber) for p in envoy.containerPorts])
    yield from _port_faults(f"{where}.nodePorts", [(p.name, p.portNumber) for p in envoy.nodePorts])
    if envoy.loadBalancer is not None:
        yield from _load_balancer_faults(f"{where}.loadBalancer", envoy.loadBalancer)


def _port_faults(where: str, ports: list[tuple[str, int | None]]) -> Iterator[str]:
    """``ports``: (name, number); a number that is None is the cluster's choice."""
    if not ports:
        return
    if len(ports) != len(_NAMES) or {name for name, _ in ports} != _NAMES:
        yield f"{where}: give exactly two, named http and https"
    numbers = [number for _, number in ports if number is not None]
    if len(set(numbers)) != len(numbers):
        yield f"{where}: the two have the same number"
    for number in numbers:
        if not 1 <= number <= 65535:
            yield f"{where}: {number} is no port from 1 to 65535"


def _load_balancer_faults(where: str, given: Any) -> Iterator[str]:
    provider = given.providerParameters
    if given.scope not in _SCOPES:
        yield f"{where}.scope {given.scope!r}; give {' or '.join(_SCOPES)}"
    where = f"{where}.providerParameters"
    if provider.type not in _PROVIDERS:
        yield f"{where}.type {provider.type!r}; give {', '.join(_PROVIDERS)}"
    for name in _PROVIDERS:
        own = getattr(provider, name.lower())
        if own is None:
            continue
        if name != provider.type:
            yield f"{where}.{name.lower()} is given, but type is {provider.type}; remove one"
        if name == "AWS" and own.type not in _AWS_TYPES:
            yield f"{where}.aws.type {own.type!r}; give {' or '.join(_AWS_TYPES)}"
        address = getattr(own, "address", "")
        if address and not ip_address(address):
            yield f"{where}.{name.lower()}.address {address!r} is no IP address"


def _load_balancer(given: Any) -> LoadBalancer:
    if given is None:
        return LoadBalancer()
    provider = given.providerParameters
    kind: Literal["AWS", "Azure", "GCP"] = provider.type
    own = getattr(provider, kind.lower())
    if own is None:
        return LoadBalancer(scope=given.scope, provider=kind)
    if kind == "AWS":
        return LoadBalancer(
            scope=given.scope, provider=kind, aws_type=own.type, allocation_ids=tuple(own.allocationIds)
        )
    group = own.resourceGroup if kind == "Azure" else ""
    return LoadBalancer(scope=given.scope, provider=kind, address=own.address, subnet=own.subnet, resource_group=group)

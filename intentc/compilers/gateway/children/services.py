"""The Services: Contour's, for Envoy, and Envoy's, for clients, with the annotations by which clouds know what load
balancer they want (docs/gateway.md §6, §8, §8.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from ..instance import Instance, LoadBalancer, Port
from .child import Child, Phase, metadata, names_of, owner_labels
from .pods import XDS_PORT, Fields

_PREFIX = "service.beta.kubernetes.io"


def load_balancer_annotations(wanted: LoadBalancer) -> dict[str, str]:
    is_internal = wanted.scope == "Internal"
    match wanted.provider:
        case "AWS":
            return {**_aws(wanted), **({f"{_PREFIX}/aws-load-balancer-internal": "true"} if is_internal else {})}
        case "Azure":
            return _azure(wanted, is_internal)
        case "GCP":
            return _gcp(wanted, is_internal)


def _aws(wanted: LoadBalancer) -> dict[str, str]:
    if wanted.aws_type == "Classic":
        return {
            f"{_PREFIX}/aws-load-balancer-backend-protocol": "tcp",
            f"{_PREFIX}/aws-load-balancer-proxy-protocol": "*",
        }
    found = {f"{_PREFIX}/aws-load-balancer-type": "nlb"}
    if wanted.scope == "External" and wanted.allocation_ids:
        found[f"{_PREFIX}/aws-load-balancer-eip-allocations"] = ",".join(wanted.allocation_ids)
    return found


def _azure(wanted: LoadBalancer, is_internal: bool) -> dict[str, str]:
    if not is_internal:
        key = f"{_PREFIX}/azure-load-balancer-resource-group"
        return {key: wanted.resource_group} if wanted.resource_group else {}
    found = {f"{_PREFIX}/azure-load-balancer-internal": "true"}
    if wanted.subnet:
        found[f"{_PREFIX}/azure-load-balancer-internal-subnet"] = wanted.subnet
    return found


def _gcp(wanted: LoadBalancer, is_internal: bool) -> dict[str, str]:
    if not is_internal:
        return {}
    found = {"cloud.google.com/load-balancer-type": "Internal", "networking.gke.io/load-balancer-type": "Internal"}
    if wanted.subnet:
        found["networking.gke.io/internal-load-balancer-subnet"] = wanted.subnet
    return found


_HIGHEST = 65535
_PRIVILEGED = 1023
"""The highest port that only a privileged process may listen on."""
_NODE_PORTS = range(30000, 32768)
"""The ports that a cluster gives to Services of nodes, unless it is configured otherwise."""
_USUAL = (Port(80, "http"), Port(443, "https"))
"""The ports of a Contour without class, and those that have the plain names ``http`` and ``https``."""


def container_port(number: int) -> int:
    """The port on which Envoy listens for a listener's port (layout P). Different ports of listeners may have the same.

    >>> container_port(80), container_port(443), container_port(57546)
    (8080, 8443, 1034)
    """
    found = number + 8000
    if found > _HIGHEST:
        found -= _HIGHEST
    return found + _PRIVILEGED if found <= _PRIVILEGED else found


def service_ports(instance: Instance) -> list[Fields]:
    if instance.layout == "operator":
        return _ports_of_operator(instance)
    found = [
        _port(f"{port.traffic}-{port.number}", port.number, container_port(port.number))
        for port in sorted(instance.ports)
    ]
    for port in found if instance.publishing.type == "NodePortService" else ():
        if port["port"] in _NODE_PORTS:
            port["nodePort"] = port["port"]
    return found


def _ports_of_operator(instance: Instance) -> list[Fields]:
    settings = instance.envoy_pods
    container_ports = {"http": settings.http_port, "https": settings.https_port}
    ports = sorted(_USUAL if instance.gateway is None else instance.ports)
    names = {port: port.traffic if port in _USUAL else f"{port.traffic}-{port.number}" for port in ports}
    found = {port: _port(name, port.number, container_ports[port.traffic]) for port, name in names.items()}
    if instance.publishing.type == "NodePortService":
        for traffic, number in instance.publishing.node_ports:
            if (carrier := _carrier(ports, traffic)) is not None:
                found[carrier]["nodePort"] = number
    return list(found.values())


def _carrier(ports: Iterable[Port], traffic: str) -> Port | None:
    """The port that gets the nodePort of a traffic: the one of that name, else the lowest."""
    candidates = [port for port in ports if port.traffic == traffic]
    return next((port for port in candidates if port in _USUAL), candidates[0] if candidates else None)


def _port(name: str, number: int, target: int) -> Fields:
    return {"name": name, "port": number, "protocol": "TCP", "targetPort": target}


_TYPES = {"LoadBalancerService": "LoadBalancer", "NodePortService": "NodePort", "ClusterIPService": "ClusterIP"}


def contour_service(instance: Instance) -> Child:
    """The Service from which Envoy gets its configuration."""
    name = names_of(instance).contour
    port = {"name": "xds", "port": XDS_PORT, "protocol": "TCP", "targetPort": XDS_PORT}
    spec = {"type": "ClusterIP", "selector": {"app": name}, "sessionAffinity": "None", "ports": [port]}
    own = metadata(instance, name, owner_labels(instance), instance.namespace)
    return Child({"apiVersion": "v1", "kind": "Service", "metadata": own, "spec": spec}, Phase.CONTOUR_SERVICE)


def envoy_service(instance: Instance) -> Child:
    """The Service by which clients reach Envoy. A change of the addresses that it has in the cluster means a new
    Service; no other change does."""
    name, publishing = names_of(instance).envoy, instance.publishing
    spec: Fields = {
        "type": _TYPES[publishing.type],
        "selector": {"app": name},
        "sessionAffinity": "None",
        "ports": service_ports(instance),
    }
    if instance.layout == "provisioner":
        spec["ipFamilyPolicy"] = publishing.ip_family_policy
    if publishing.type != "ClusterIPService":
        spec["externalTrafficPolicy"] = publishing.external_traffic_policy
    own = metadata(instance, name, owner_labels(instance), instance.namespace)
    balancer = publishing.load_balancer if publishing.type == "LoadBalancerService" else None
    annotations = {
        **(load_balancer_annotations(balancer) if balancer is not None else {}),
        **dict(publishing.annotations),
        **own.get("annotations", {}),
    }
    if annotations:
        own["annotations"] = annotations
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": own, "spec": {**spec, **_addresses(instance)}}
    return Child(manifest, Phase.ENVOY_SERVICE, immutable=("spec.clusterIP", "spec.clusterIPs"))


def _addresses(instance: Instance) -> Fields:
    """The fields with the addresses that the Service shall have."""
    publishing = instance.publishing
    wanted = [str(ip_address(address)) for address in instance.addresses]
    if publishing.type == "LoadBalancerService":
        given = publishing.load_balancer.address if publishing.load_balancer is not None else ""
        return {"loadBalancerIP": wanted[0] if wanted else given} if wanted or given else {}
    if publishing.type == "NodePortService" or not wanted:
        return {}
    if len(wanted) == 2:
        return {"clusterIP": wanted[0], "clusterIPs": wanted, "ipFamilyPolicy": "RequireDualStack"}
    if publishing.ip_family_policy != "SingleStack":
        # The cluster adds an address of the other family, so the whole list is not ours.
        return {"clusterIP": wanted[0]}
    return {"clusterIP": wanted[0], "clusterIPs": wanted}

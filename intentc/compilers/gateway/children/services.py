"""The Services: Contour's, for Envoy, and Envoy's, for clients (docs/gateway.md §6, §8, §8.1).

Pure functions of an ``Instance``.
"""

from __future__ import annotations

from ipaddress import ip_address

from ..instance import Instance
from .child import Child, Phase, metadata
from .labels import owner_labels
from .load_balancers import load_balancer_annotations
from .names import names_of
from .pods import XDS_PORT, Fields
from .service_ports import service_ports

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
    annotations = {**_annotations(instance), **own.get("annotations", {})}
    if annotations:
        own["annotations"] = annotations
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": own, "spec": {**spec, **_addresses(instance)}}
    return Child(manifest, Phase.ENVOY_SERVICE, immutable=("spec.clusterIP", "spec.clusterIPs"))


def _annotations(instance: Instance) -> dict[str, str]:
    publishing = instance.publishing
    if publishing.type != "LoadBalancerService" or publishing.load_balancer is None:
        return dict(publishing.annotations)
    return {**load_balancer_annotations(publishing.load_balancer), **dict(publishing.annotations)}


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

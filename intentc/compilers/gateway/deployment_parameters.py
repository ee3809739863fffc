"""Reads and checks a ContourDeployment of projectcontour.io: parameters of current Gateways (docs/gateway.md §5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from intentc import View

from .contour_parameters import Checked, Parameters, pairs, placement
from .instance import ContourPods, EnvoyPods, Json, Publishing
from .settings import HOST_PATHS

_CHOICES = {
    "contour.logLevel": ("info", "debug"),
    "envoy.workloadType": ("DaemonSet", "Deployment"),
    "envoy.logLevel": ("trace", "debug", "info", "warn", "error", "critical", "off"),
    "envoy.networkPublishing.type": ("LoadBalancerService", "NodePortService", "ClusterIPService"),
    "envoy.networkPublishing.externalTrafficPolicy": ("Local", "Cluster"),
    "envoy.networkPublishing.ipFamilyPolicy": ("SingleStack", "PreferDualStack", "RequireDualStack"),
}
"""Field → its values."""
_NUMBERS = (
    "contour.kubernetesLogLevel",
    "contour.replicas",
    "contour.deployment.replicas",
    "envoy.deployment.replicas",
    "envoy.baseID",
    "envoy.overloadMaxHeapSize",
    "envoy.overloadMaxDownstreamConnections",
)
"""Fields with a number of at least 0."""
_OBJECTS = (
    "contour.deployment.strategy",
    "contour.resources",
    "envoy.deployment.strategy",
    "envoy.daemonSet.updateStrategy",
    "envoy.resources",
    "runtimeSettings",
)
"""Opaque fields that hold an object."""
_LISTS = (
    "contour.nodePlacement.tolerations",
    "envoy.nodePlacement.tolerations",
    "envoy.extraVolumes",
    "envoy.extraVolumeMounts",
)
"""Opaque fields that hold a list of objects."""


def deployment_parameters(given: View, host_paths: Collection[str] = ()) -> Checked:
    """The parameters in a ContourDeployment, and what is wrong with them. ``host_paths``: the folders of the nodes that
    its volumes may mount."""
    faults = tuple(_faults(given, host_paths))
    if faults:
        return Checked(Parameters(), faults)
    contour, envoy, publishing = given.contour, given.envoy, given.envoy.networkPublishing
    is_deployment = envoy.workloadType == "Deployment"
    own = Parameters(
        contour_pods=ContourPods(
            replicas=_replicas(contour.deployment, contour.replicas),
            placement=placement(contour.nodePlacement),
            strategy=_strategy(contour.deployment, "strategy"),
            resources=contour.resources.text,
            log_level=contour.logLevel,
            kubernetes_log_level=contour.kubernetesLogLevel,
            watch_namespaces=tuple(sorted(set(contour.watchNamespaces))),
            disabled_features=tuple(sorted(set(contour.disabledFeatures))),
            pod_annotations=pairs(contour.podAnnotations),
        ),
        envoy_pods=EnvoyPods(
            workload=envoy.workloadType,
            replicas=_replicas(envoy.deployment, None),
            placement=placement(envoy.nodePlacement),
            strategy=_strategy(envoy.deployment, "strategy")
            if is_deployment
            else _strategy(envoy.daemonSet, "updateStrategy"),
            resources=envoy.resources.text,
            log_level=envoy.logLevel,
            pod_annotations=pairs(envoy.podAnnotations),
            extra_volumes=envoy.extraVolumes.text,
            extra_volume_mounts=envoy.extraVolumeMounts.text,
            base_id=envoy.baseID,
            max_heap=envoy.overloadMaxHeapSize,
            max_connections=envoy.overloadMaxDownstreamConnections,
        ),
        publishing=Publishing(
            type=publishing.type,
            load_balancer=None,
            external_traffic_policy=publishing.externalTrafficPolicy,
            ip_family_policy=publishing.ipFamilyPolicy,
            annotations=pairs(publishing.serviceAnnotations),
        ),
        resource_labels=pairs(given.resourceLabels),
        runtime_settings=given.runtimeSettings.text,
    )
    return Checked(own)


def _faults(given: View, host_paths: Collection[str]) -> Iterator[str]:
    for path, choices in _CHOICES.items():
        if (value := _at(given, path)) not in choices:
            yield f"{path} {value!r}; give {', '.join(choices)}"
    for path in _NUMBERS:
        value = _at(given, path)
        if value is not None and value < 0:
            yield f"{path} {value}; give at least 0"
    for path in _OBJECTS:
        if not isinstance(_decoded(_at(given, path)), dict | None):
            yield f"{path} is no object"
    lists = {path: _decoded(_at(given, path)) for path in _LISTS}
    for path, value in lists.items():
        if value is not None and not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
            yield f"{path} is no list of objects"
            return
    for volume in lists["envoy.extraVolumes"] or ():
        if "hostPath" in volume and not _is_allowed(volume["hostPath"], host_paths):
            yield (
                f"envoy.extraVolumes: volume {volume.get('name')!r} mounts a folder of the node; "
                f"use another type of volume, or allow the folder in the setting {HOST_PATHS}"
            )
    volumes = {one.get("name") for one in lists["envoy.extraVolumes"] or ()}
    for mount in lists["envoy.extraVolumeMounts"] or ():
        if mount.get("name") not in volumes:
            yield f"envoy.extraVolumeMounts: there is no extra volume {mount.get('name')!r}"


def _is_allowed(host_path: Any, folders: Collection[str]) -> bool:
    """Whether a volume's ``hostPath`` is one of ``folders``, or below one."""
    path = str(host_path.get("path")) if isinstance(host_path, dict) else ""
    below = any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)
    return below and ".." not in path.split("/")


def _at(given: View, path: str) -> Any:
    """A field by its path, None below one that is not given."""
    first, *rest = path.split(".")
    value = given.field(first)
    for step in rest:
        if value is None:
            return None
        value = getattr(value, step)
    return value


def _decoded(opaque: Any) -> Any:
    return msgspec.json.decode(opaque.text) if opaque is not None and opaque.text else None


def _strategy(settings: Any, field: str) -> Json:
    return str(getattr(settings, field).text) if settings is not None else ""


def _replicas(settings: Any, older: int | None) -> int:
    """The count in ``deployment``, else in the field of older versions, else 2."""
    if settings is not None and settings.replicas is not None:
        return int(settings.replicas)
    return 2 if older is None else older

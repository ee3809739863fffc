"""The DaemonSet, or Deployment, of Envoy, and the former of the two until it is replaced (docs/gateway.md §8, §8.1).

Pure functions of an ``Instance``, and of what was observed of its objects: no state, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..instance import Instance
from .child import Child, Observed, Phase, metadata
from .envoy_containers import init_container, pod_containers
from .labels import workload_labels
from .names import names_of
from .pods import UNPRIVILEGED, Fields, apart, decoded, placement, pod, secret_volume

_SCRAPED = {"prometheus.io/scrape": "true", "prometheus.io/port": "8002", "prometheus.io/path": "/stats/prometheus"}
_DAEMON_SET_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
_DEPLOYMENT_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%"}}


def envoy_workloads(instance: Instance, observed: Observed) -> Iterator[Child]:
    """The DaemonSet or the Deployment, as the parameters say; and the other of the two, if it exists because the
    parameters were different, until the new one is available (docs/gateway.md §8.1)."""
    is_deployment = instance.envoy_pods.workload == "Deployment"
    wanted = _deployment(instance) if is_deployment else _daemon_set(instance)
    yield wanted
    if instance.layout == "provisioner":
        former = _daemon_set(instance) if is_deployment else _deployment(instance)
        there, serving = observed(former), observed(wanted)
        is_there = there is not None and not there.gone and not there.taken
        if is_there and not (serving is not None and serving.available):
            yield former


def _daemon_set(instance: Instance) -> Child:
    given = instance.envoy_pods.strategy if instance.envoy_pods.workload == "DaemonSet" else ""
    return _workload(instance, "DaemonSet", {"updateStrategy": decoded(given, _DAEMON_SET_STRATEGY)}, {})


def _deployment(instance: Instance) -> Child:
    settings = instance.envoy_pods
    given = settings.strategy if settings.workload == "Deployment" else ""
    fields = {"replicas": settings.replicas, "strategy": decoded(given, _DEPLOYMENT_STRATEGY)}
    return _workload(instance, "Deployment", fields, {"affinity": apart(names_of(instance).envoy)})


def _workload(instance: Instance, kind: str, fields: Fields, pod_fields: Fields) -> Child:
    names = names_of(instance)
    app = {"app": names.envoy}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": metadata(instance, names.envoy, workload_labels(instance), instance.namespace),
        "spec": {
            **fields,
            "selector": {"matchLabels": app},
            "revisionHistoryLimit": 10,
            "template": {
                "metadata": {
                    "labels": app,
                    "annotations": {**_SCRAPED, **dict(instance.envoy_pods.pod_annotations)},
                },
                "spec": {**_pod(instance), **pod_fields},
            },
        },
    }
    return Child(manifest, Phase.ENVOY, immutable=("spec.selector",))


def _pod(instance: Instance) -> Fields:
    names, settings = names_of(instance), instance.envoy_pods
    is_operator = instance.layout == "operator"
    volumes = [
        secret_volume("envoycert", names.envoy_certificate),
        {"name": "envoy-config", "emptyDir": {}},
        *([] if is_operator else [{"name": "envoy-admin", "emptyDir": {}}]),
        *decoded(settings.extra_volumes, []),
    ]
    return pod(
        names.envoy,
        300,
        {} if is_operator else UNPRIVILEGED,
        automountServiceAccountToken=False,
        initContainers=[init_container(instance)],
        containers=pod_containers(instance),
        volumes=volumes,
        **placement(settings.placement),
    )

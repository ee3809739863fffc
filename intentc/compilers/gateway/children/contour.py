"""The Deployment of Contour (docs/gateway.md §8, §8.1).

Pure functions of an ``Instance``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..instance import Instance
from .child import Child, Phase, metadata
from .configuration import FILE, config_hash
from .labels import CONFIG_HASH, workload_labels
from .names import Names, names_of, suffix_of
from .pods import (
    CERTIFICATES_DIRECTORY,
    UNPRIVILEGED,
    XDS_PORT,
    Fields,
    apart,
    certificate_arguments,
    container,
    decoded,
    http_get,
    mount,
    namespace_variable,
    placement,
    pod,
    port,
    probe,
    secret_volume,
    variable,
)
from .rbac import watched_namespaces

_METRICS_PORT = 8000
_HTTP_PORT, _HTTPS_PORT = 8080, 8443
"""Envoy's ports as Contour knows them without arguments."""
_CONFIGURATION = "/config"
_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "25%"}}


def contour_deployment(instance: Instance) -> Child:
    """The Deployment."""
    names, settings = names_of(instance), instance.contour_pods
    app = {"app": names.contour}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(instance, names.contour, workload_labels(instance), instance.namespace),
        "spec": {
            "replicas": settings.replicas,
            "selector": {"matchLabels": app},
            "strategy": decoded(settings.strategy, _STRATEGY),
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "template": {
                "metadata": {"labels": app, "annotations": _annotations(instance)},
                "spec": pod(
                    names.contour,
                    30,
                    UNPRIVILEGED,
                    affinity=apart(names.contour),
                    containers=[_container(instance, names)],
                    volumes=list(_volumes(instance, names)),
                    **placement(settings.placement),
                ),
            },
        },
    }
    return Child(manifest, Phase.CONTOUR, immutable=("spec.selector",))


def _annotations(instance: Instance) -> dict[str, str]:
    found = {"prometheus.io/scrape": "true", "prometheus.io/port": str(_METRICS_PORT)}
    if instance.layout == "operator" and instance.gateway is not None:
        found[CONFIG_HASH] = config_hash(instance)
    return {**found, **dict(instance.contour_pods.pod_annotations)}


def _container(instance: Instance, names: Names) -> Fields:
    is_operator = instance.layout == "operator"
    mounts = [mount("contourcert", CERTIFICATES_DIRECTORY, read_only=True)]
    if is_operator:
        mounts.append(mount("contour-config", _CONFIGURATION, read_only=True))
    readiness = {"tcpSocket": {"port": XDS_PORT}}
    return container(
        "contour",
        instance.images.contour,
        resources=instance.contour_pods.resources,
        command=["contour"],
        args=[*_arguments(instance, names)],
        env=[namespace_variable(), variable("POD_NAME", "metadata.name")],
        ports=[port("xds", XDS_PORT), port("metrics", _METRICS_PORT), port("debug", 6060)],
        livenessProbe=probe(http_get("/healthz", _METRICS_PORT)),
        readinessProbe=probe(readiness, delay=15 if is_operator else 0),
        volumeMounts=mounts,
    )


def _arguments(instance: Instance, names: Names) -> Iterator[str]:
    yield from ("serve", "--incluster", "--xds-address=0.0.0.0", f"--xds-port={XDS_PORT}")
    yield from certificate_arguments("contour")
    if instance.layout == "operator":
        yield f"--config-path={_CONFIGURATION}/{FILE}"
        if instance.envoy_pods.http_port != _HTTP_PORT:
            yield f"--envoy-service-http-port={instance.envoy_pods.http_port}"
        if instance.envoy_pods.https_port != _HTTPS_PORT:
            yield f"--envoy-service-https-port={instance.envoy_pods.https_port}"
    else:
        yield from _arguments_of_provisioner(instance, names)
    if instance.ingress_class:
        yield f"--ingress-class-name={instance.ingress_class}"


def _arguments_of_provisioner(instance: Instance, names: Names) -> Iterator[str]:
    settings = instance.contour_pods
    yield f"--contour-config-name={names.configuration}"
    yield f"--leader-election-resource-name=leader-elect-{suffix_of(instance)}"
    yield f"--envoy-service-name={names.envoy}"
    yield f"--kubernetes-debug={settings.kubernetes_log_level}"
    if settings.log_level == "debug":
        yield "--debug"
    if namespaces := watched_namespaces(instance):
        yield f"--watch-namespaces={','.join(namespaces)}"
    for feature in settings.disabled_features:
        yield f"--disable-feature={feature}"


def _volumes(instance: Instance, names: Names) -> Iterator[Fields]:
    yield secret_volume("contourcert", names.contour_certificate)
    if instance.layout == "operator":
        items = [{"key": FILE, "path": FILE}]
        source = {"name": names.configuration, "items": items, "defaultMode": 420}
        yield {"name": "contour-config", "configMap": source}

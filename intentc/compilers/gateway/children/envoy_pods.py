"""The DaemonSet, or Deployment, of Envoy, and the former of the two until it is replaced (docs/gateway.md §8, §8.1).

Its pods have containers that prepare Envoy, that end it, and Envoy.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..instance import Instance
from . import pods
from .child import Child, Observed, Phase, metadata, names_of, workload_labels
from .pods import Fields

METRICS_PORT = 8002
_SHUTDOWN_PORT = 8090
_CONFIGURATION = "/config"
_FILE = f"{_CONFIGURATION}/envoy.json"
_SMALL = '{"requests":{"cpu":"25m","memory":"50Mi"},"limits":{"cpu":"200m","memory":"100Mi"}}'
"""The resources of what runs next to Envoy in layout P."""


def init_container(instance: Instance) -> Fields:
    """The container that writes Envoy's first configuration."""
    names, settings = names_of(instance), instance.envoy_pods
    arguments = [
        "bootstrap",
        _FILE,
        f"--xds-address={names.contour}",
        f"--xds-port={pods.XDS_PORT}",
        "--xds-resource-version=v3",
        f"--resources-dir={_CONFIGURATION}/resources",
        *pods.certificate_arguments("envoy"),
    ]
    if instance.layout == "provisioner":
        arguments.append(f"--overload-max-heap={settings.max_heap}")
        arguments.append(f"--overload-downstream-max-conn={settings.max_connections}")
    return pods.container(
        "envoy-initconfig",
        instance.images.contour,
        resources=_small(instance),
        command=["contour"],
        args=arguments,
        env=[pods.namespace_variable()],
        volumeMounts=[_certificates(), pods.mount("envoy-config", _CONFIGURATION)],
    )


def pod_containers(instance: Instance) -> list[Fields]:
    """The containers that run: shutdown-manager and envoy."""
    is_operator = instance.layout == "operator"
    admin = [] if is_operator else [pods.mount("envoy-admin", "/admin")]
    extra = pods.decoded(instance.envoy_pods.extra_volume_mounts, [])
    return [_shutdown_manager(instance, [*admin, *extra]), _envoy(instance, [*admin, *extra])]


def _shutdown_manager(instance: Instance, mounts: list[Fields]) -> Fields:
    fields: Fields = {}
    if instance.layout == "operator":
        fields["livenessProbe"] = pods.probe(pods.http_get("/healthz", _SHUTDOWN_PORT), delay=3)
    if mounts:
        fields["volumeMounts"] = mounts
    return pods.container(
        "shutdown-manager",
        instance.images.contour,
        resources=_small(instance),
        command=["/bin/contour"],
        args=["envoy", "shutdown-manager"],
        lifecycle={"preStop": {"exec": {"command": ["/bin/contour", "envoy", "shutdown"]}}},
        **fields,
    )


def _envoy(instance: Instance, mounts: list[Fields]) -> Fields:
    settings = instance.envoy_pods
    # Each of the last arguments is one text with a blank: so it runs under the operator and the provisioner.
    arguments = ["-c", _FILE, "--service-cluster $(CONTOUR_NAMESPACE)", "--service-node $(ENVOY_POD_NAME)"]
    arguments.append(f"--log-level {settings.log_level}")
    if instance.layout == "operator":
        ports = [pods.port("http", settings.http_port), pods.port("https", settings.https_port)]
    else:
        arguments.append(f"--base-id {settings.base_id}")
        ports = [pods.port("metrics", METRICS_PORT)]
    return pods.container(
        "envoy",
        instance.images.envoy,
        resources=settings.resources,
        command=["envoy"],
        args=arguments,
        env=[pods.namespace_variable(), pods.variable("ENVOY_POD_NAME", "metadata.name")],
        ports=ports,
        readinessProbe=pods.probe(pods.http_get("/ready", METRICS_PORT), period=4, delay=3),
        lifecycle={"preStop": pods.http_get("/shutdown", _SHUTDOWN_PORT)},
        volumeMounts=[_certificates(), pods.mount("envoy-config", _CONFIGURATION, read_only=True), *mounts],
    )


def _certificates() -> Fields:
    return pods.mount("envoycert", pods.CERTIFICATES_DIRECTORY, read_only=True)


def _small(instance: Instance) -> str:
    return "" if instance.layout == "operator" else _SMALL


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
    return _workload(instance, "DaemonSet", {"updateStrategy": pods.decoded(given, _DAEMON_SET_STRATEGY)}, {})


def _deployment(instance: Instance) -> Child:
    settings = instance.envoy_pods
    given = settings.strategy if settings.workload == "Deployment" else ""
    fields = {"replicas": settings.replicas, "strategy": pods.decoded(given, _DEPLOYMENT_STRATEGY)}
    return _workload(instance, "Deployment", fields, {"affinity": pods.apart(names_of(instance).envoy)})


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
        pods.secret_volume("envoycert", names.envoy_certificate),
        {"name": "envoy-config", "emptyDir": {}},
        *([] if is_operator else [{"name": "envoy-admin", "emptyDir": {}}]),
        *pods.decoded(settings.extra_volumes, []),
    ]
    return pods.pod(
        names.envoy,
        300,
        {} if is_operator else pods.UNPRIVILEGED,
        automountServiceAccountToken=False,
        initContainers=[init_container(instance)],
        containers=pod_containers(instance),
        volumes=volumes,
        **pods.placement(settings.placement),
    )

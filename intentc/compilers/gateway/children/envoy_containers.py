"""The containers of Envoy's pods: what prepares Envoy, what ends it, and Envoy (docs/gateway.md §8, §8.1).

Pure functions of an ``Instance``.
"""

from __future__ import annotations

from ..instance import Instance
from .names import names_of
from .pods import (
    CERTIFICATES_DIRECTORY,
    XDS_PORT,
    Fields,
    certificate_arguments,
    container,
    decoded,
    http_get,
    mount,
    namespace_variable,
    port,
    probe,
    variable,
)

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
        f"--xds-port={XDS_PORT}",
        "--xds-resource-version=v3",
        f"--resources-dir={_CONFIGURATION}/resources",
        *certificate_arguments("envoy"),
    ]
    if instance.layout == "provisioner":
        arguments.append(f"--overload-max-heap={settings.max_heap}")
        arguments.append(f"--overload-downstream-max-conn={settings.max_connections}")
    return container(
        "envoy-initconfig",
        instance.images.contour,
        resources=_small(instance),
        command=["contour"],
        args=arguments,
        env=[namespace_variable()],
        volumeMounts=[_certificates(), mount("envoy-config", _CONFIGURATION)],
    )


def pod_containers(instance: Instance) -> list[Fields]:
    """The containers that run: shutdown-manager and envoy."""
    is_operator = instance.layout == "operator"
    admin = [] if is_operator else [mount("envoy-admin", "/admin")]
    extra = decoded(instance.envoy_pods.extra_volume_mounts, [])
    return [_shutdown_manager(instance, [*admin, *extra]), _envoy(instance, [*admin, *extra])]


def _shutdown_manager(instance: Instance, mounts: list[Fields]) -> Fields:
    fields: Fields = {}
    if instance.layout == "operator":
        fields["livenessProbe"] = probe(http_get("/healthz", _SHUTDOWN_PORT), delay=3)
    if mounts:
        fields["volumeMounts"] = mounts
    return container(
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
        ports = [port("http", settings.http_port), port("https", settings.https_port)]
    else:
        arguments.append(f"--base-id {settings.base_id}")
        ports = [port("metrics", METRICS_PORT)]
    return container(
        "envoy",
        instance.images.envoy,
        resources=settings.resources,
        command=["envoy"],
        args=arguments,
        env=[namespace_variable(), variable("ENVOY_POD_NAME", "metadata.name")],
        ports=ports,
        readinessProbe=probe(http_get("/ready", METRICS_PORT), period=4, delay=3),
        lifecycle={"preStop": http_get("/shutdown", _SHUTDOWN_PORT)},
        volumeMounts=[_certificates(), mount("envoy-config", _CONFIGURATION, read_only=True), *mounts],
    )


def _certificates() -> Fields:
    return mount("envoycert", CERTIFICATES_DIRECTORY, read_only=True)


def _small(instance: Instance) -> str:
    return "" if instance.layout == "operator" else _SMALL

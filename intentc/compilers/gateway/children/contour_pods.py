"""The Deployment of Contour, what it reads at its start, and the Job that makes its certificates (docs/gateway.md §8,
§8.1).

It reads a ConfigMap in layout O, a ContourConfiguration in layout P. The Job runs once for each image of Contour: what
it makes lasts, and a Job that ran at each start would replace certificates that are in use. It runs again when a Secret
is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from ..instance import Instance
from . import pods
from .child import (
    CONFIG_HASH,
    Child,
    Names,
    Observed,
    Phase,
    gateway_labels,
    metadata,
    names_of,
    owner_labels,
    suffix_of,
    workload_labels,
)
from .pods import Fields
from .rbac import watched_namespaces

MADE_BY_CERTGEN: Mapping[str, str] = {"app": "contour"}
"""The labels that ``contour certgen`` puts on its Secrets."""


def certificates(instance: Instance, observed: Observed) -> Iterator[Child]:
    """The Job and its Secrets, as far as they are to be claimed now.

    The Secrets are claimed once the Job has made them, so that they are deleted with the instance, and stay claimed
    while the Job of a new image runs. A Job that is done although a Secret is gone is not claimed: so it is deleted,
    what was observed of it is forgotten, and it is claimed, and runs, again."""
    job = certgen(instance)
    ran = observed(job)
    is_done = ran is not None and ran.done
    seen = [(secret, observed(secret)) for secret in certificate_secrets(instance)]
    missing = [one is not None and one.gone and not one.taken for _, one in seen]
    for (secret, one), is_missing in zip(seen, missing, strict=True):
        if is_done if one is None else not is_missing:
            yield secret
    if not (is_done and any(missing)):
        yield job


def certificate_secrets(instance: Instance) -> Iterator[Child]:
    """The Secrets that the Job makes: Contour's and Envoy's. Of their content nothing is ours."""
    names = names_of(instance)
    for name in (names.contour_certificate, names.envoy_certificate):
        own = metadata(instance, name, owner_labels(instance), instance.namespace)
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": own}
        yield Child(manifest, Phase.CONFIGURATION, adopts=MADE_BY_CERTGEN, adopted_only=True)


def certgen(instance: Instance) -> Child:
    names = names_of(instance)
    command = ["contour", "certgen", "--kube", "--incluster", "--overwrite", "--secrets-format=compact"]
    command.append("--namespace=$(CONTOUR_NAMESPACE)")
    if instance.layout == "provisioner":
        command.append(f"--secrets-name-suffix=-{suffix_of(instance)}")
    labels = {**workload_labels(instance, "contour-certgen"), "app.kubernetes.io/part-of": "project-contour"}
    program = pods.container(
        "contour", instance.images.contour, "Always", command=command, env=[pods.namespace_variable()]
    )
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(instance, names.job, labels, instance.namespace),
        "spec": {
            "backoffLimit": 1,
            "completions": 1,
            "parallelism": 1,
            "template": {
                "metadata": {"labels": owner_labels(instance)},
                "spec": pods.pod(names.certgen, 30, pods.UNPRIVILEGED, containers=[program], restartPolicy="Never"),
            },
        },
    }
    return Child(manifest, Phase.CERTIFICATES, immutable=("spec.template",), once=True)


FILE = "contour.yaml"


def configuration(instance: Instance) -> Child:
    """The ConfigMap, or the ContourConfiguration."""
    return _config_map(instance) if instance.layout == "operator" else _contour_configuration(instance)


def _config_map(instance: Instance) -> Child:
    labels = gateway_labels(instance) or owner_labels(instance)
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(instance, names_of(instance).configuration, labels, instance.namespace),
        "data": {FILE: _file(instance)},
    }
    return Child(manifest, Phase.CONFIGURATION)


def _file(instance: Instance) -> str:
    """The file as YAML. Names are quoted: a Gateway may be called ``true``."""
    lines = []
    if instance.gateway is not None:
        lines += ["gateway:", f"  name: {_quoted(instance.gateway.name)}"]
        lines += [f"  namespace: {_quoted(instance.gateway.namespace)}"]
    lines += ["disablePermitInsecure: false", "tls:", "  fallback-certificate: null"]
    lines += ["  envoy-client-certificate: null", "accesslog-format: envoy"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _contour_configuration(instance: Instance) -> Child:
    names = names_of(instance)
    spec = pods.decoded(instance.runtime_settings, {})
    gateway = {} if instance.gateway is None else msgspec.to_builtins(instance.gateway)
    service = {"namespace": instance.namespace, "name": names.envoy}
    manifest = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": metadata(instance, names.configuration, owner_labels(instance), instance.namespace),
        "spec": {
            **spec,
            "gateway": {**(spec.get("gateway") or {}), "gatewayRef": gateway},
            "envoy": {**(spec.get("envoy") or {}), "service": service},
        },
    }
    return Child(manifest, Phase.CONFIGURATION)


_METRICS_PORT = 8000
_HTTP_PORT, _HTTPS_PORT = 8080, 8443
"""Envoy's ports as Contour knows them without arguments."""
_CONFIGURATION = "/config"
_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "25%"}}


def contour_deployment(instance: Instance) -> Child:
    names, settings = names_of(instance), instance.contour_pods
    app = {"app": names.contour}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(instance, names.contour, workload_labels(instance), instance.namespace),
        "spec": {
            "replicas": settings.replicas,
            "selector": {"matchLabels": app},
            "strategy": pods.decoded(settings.strategy, _STRATEGY),
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "template": {
                "metadata": {"labels": app, "annotations": _annotations(instance)},
                "spec": pods.pod(
                    names.contour,
                    30,
                    pods.UNPRIVILEGED,
                    affinity=pods.apart(names.contour),
                    containers=[_container(instance, names)],
                    volumes=list(_volumes(instance, names)),
                    **pods.placement(settings.placement),
                ),
            },
        },
    }
    return Child(manifest, Phase.CONTOUR, immutable=("spec.selector",))


def _annotations(instance: Instance) -> dict[str, str]:
    found = {"prometheus.io/scrape": "true", "prometheus.io/port": str(_METRICS_PORT)}
    if instance.layout == "operator" and instance.gateway is not None:
        found[CONFIG_HASH] = hashlib.sha256(_file(instance).encode()).hexdigest()[:16]
    return {**found, **dict(instance.contour_pods.pod_annotations)}


def _container(instance: Instance, names: Names) -> Fields:
    is_operator = instance.layout == "operator"
    mounts = [pods.mount("contourcert", pods.CERTIFICATES_DIRECTORY, read_only=True)]
    if is_operator:
        mounts.append(pods.mount("contour-config", _CONFIGURATION, read_only=True))
    readiness = {"tcpSocket": {"port": pods.XDS_PORT}}
    return pods.container(
        "contour",
        instance.images.contour,
        resources=instance.contour_pods.resources,
        command=["contour"],
        args=[*_arguments(instance, names)],
        env=[pods.namespace_variable(), pods.variable("POD_NAME", "metadata.name")],
        ports=[pods.port("xds", pods.XDS_PORT), pods.port("metrics", _METRICS_PORT), pods.port("debug", 6060)],
        livenessProbe=pods.probe(pods.http_get("/healthz", _METRICS_PORT)),
        readinessProbe=pods.probe(readiness, delay=15 if is_operator else 0),
        volumeMounts=mounts,
    )


def _arguments(instance: Instance, names: Names) -> Iterator[str]:
    yield from ("serve", "--incluster", "--xds-address=0.0.0.0", f"--xds-port={pods.XDS_PORT}")
    yield from pods.certificate_arguments("contour")
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
    yield pods.secret_volume("contourcert", names.contour_certificate)
    if instance.layout == "operator":
        items = [{"key": FILE, "path": FILE}]
        source = {"name": names.configuration, "items": items, "defaultMode": 420}
        yield {"name": "contour-config", "configMap": source}

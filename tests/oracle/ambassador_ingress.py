"""What an Ingress means, in the words of Mappings and Hosts: for the naive oracle beside it, which knows only those.

From networking.k8s.io/v1 and docs/ambassador.md §6.10: a ``Prefix`` is whole segments, which
a Mapping can't say; ``segments`` in a Mapping's spec stands for it here.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def meant(ingress: Json, manifests: list[Json]) -> list[Json]:
    """The Mappings, one for each path that matches something, and the Hosts, one for each name with a certificate."""
    spec, namespace = ingress["spec"], ingress["metadata"]["namespace"]
    classes = {
        one["metadata"]["name"]
        for one in manifests
        if one["kind"] == "IngressClass" and one["spec"]["controller"].lower() == "getambassador.io/ingress-controller"
    }
    annotations = ingress["metadata"].get("annotations", {})
    annotated = annotations.get("kubernetes.io/ingress.class", "").lower() == "ambassador"
    if not annotated and spec.get("ingressClassName") not in classes:
        return []
    mappings: list[Json] = []
    for rule in spec.get("rules", []):
        for path in rule["http"]["paths"]:
            matched = {"hostname": rule.get("host", "*"), **_matched(path)}
            if matched not in [_without_service(mapping) for mapping in mappings]:
                mappings.append({**matched, "service": _service(path["backend"], namespace, manifests)})
    if "defaultBackend" in spec:
        service = _service(spec["defaultBackend"], namespace, manifests)
        mappings.append({"hostname": "*", "prefix": "/", "precedence": -1, "service": service})
    hosts = {
        hostname: {
            "hostname": hostname,
            "tlsSecret": {"name": entry["secretName"]},
            "requestPolicy": {"insecure": {"action": "Route"}},
        }
        for entry in reversed(spec.get("tls", []))
        for hostname in entry["hosts"]
    }
    metadata = {field: value for field, value in ingress["metadata"].items() if field != "labels"}
    labels = ingress["metadata"].get("labels", {})
    return [
        *({"kind": "Mapping", "metadata": metadata, "spec": mapping} for mapping in mappings),
        *({"kind": "Host", "metadata": {**metadata, "labels": labels}, "spec": host} for host in hosts.values()),
    ]


def _matched(path: Json) -> Json:
    text, path_type = path["path"], path["pathType"]
    if path_type == "Exact":
        return {"prefix": text, "prefix_exact": True}
    if path_type == "Prefix" and text.rstrip("/"):
        return {"prefix": text.rstrip("/"), "segments": True}
    return {"prefix": text}


def _without_service(mapping: Json) -> Json:
    return {field: value for field, value in mapping.items() if field != "service"}


def _service(backend: Json, namespace: str, manifests: list[Json]) -> str:
    """As a Mapping has it; one that is none where there is no such port."""
    name, port = backend["service"]["name"], backend["service"]["port"]
    if "number" in port:
        return f"{name}:{port['number']}"
    numbers = [
        declared["port"]
        for one in manifests
        if one["kind"] == "Service" and (one["metadata"]["namespace"], one["metadata"]["name"]) == (namespace, name)
        for declared in one["spec"]["ports"]
        if declared.get("name") == port["name"]
    ]
    return f"{name}:{numbers[0]}" if numbers else "http://"

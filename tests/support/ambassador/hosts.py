"""The Ambassador compiler in memory: Hosts, Listeners, TLSContexts and Secrets, and the elements that follow."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from intentc.compilers.ambassador import compiler
from intentc.model.values import Opaque, thaw
from intentc.testing import Create, Delete, MemoryService, Update, service_for

NAMESPACE = "gate"


def manifest(kind: str, name: str, spec: dict[str, Any], namespace: str = NAMESPACE, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "getambassador.io/v3alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def listener(name: str = "http", port: int = 8080, **spec: Any) -> dict[str, Any]:
    """Takes all Hosts, speaks HTTP without TLS, and treats requests as secure by X-Forwarded-Proto."""
    given = {
        "port": port,
        "protocol": "HTTP",
        "securityModel": "XFP",
        "hostBinding": {"namespace": {"from": "ALL"}},
        **spec,
    }
    if "protocolStack" in spec:
        del given["protocol"]
    return manifest("Listener", name, given)


def host(name: str, hostname: str, namespace: str = NAMESPACE, **spec: Any) -> dict[str, Any]:
    labels = spec.pop("labels", {})
    return manifest("Host", name, {"hostname": hostname, **spec}, namespace, **labels)


def tls_host(name: str, hostname: str, secret: str = "cert", **spec: Any) -> dict[str, Any]:
    return host(name, hostname, tlsSecret={"name": secret}, **spec)


def mapping(name: str, **spec: Any) -> dict[str, Any]:
    labels = spec.pop("labels", {})
    return manifest("Mapping", name, {"prefix": f"/{name}/", "service": "echo", **spec}, **labels)


def secret(name: str, namespace: str = NAMESPACE, **parts: bytes) -> dict[str, Any]:
    """``parts``: the Secret's keys with ``_`` for a dot: ``tls_crt=…``."""
    data = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in parts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": data}


def route(action: str) -> dict[str, Any]:
    """A ``requestPolicy``."""
    return {"insecure": {"action": action}}


class MemoryGateway:
    """The compiler in memory, with the last value that it wrote of each Envoy element."""

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        self.service: MemoryService = service_for(compiler, settings=settings or {})

    async def apply(self, *resources: dict[str, Any]) -> MemoryGateway:
        await self.service.create(*resources)
        return self

    def elements(self, kind: str) -> dict[str, dict[str, Any]]:
        """Name joined by ``:`` → properties, of the elements that are there now."""
        found: dict[str, dict[str, Any]] = {}
        for operation in self.service.written:
            if isinstance(operation, Create) and operation.kind == kind:
                found[":".join(operation.fq_name)] = plain(operation.properties)
            elif isinstance(operation, Update) and operation.key.kind == kind:
                found[":".join(operation.name.fq_name)].update(plain(operation.properties))
            elif isinstance(operation, Delete) and operation.key.kind == kind:
                del found[":".join(operation.name.fq_name)]
        return found

    def virtual_hosts(self) -> dict[str, list[str]]:
        """route configuration:domain → scopes"""
        return {name: element["scopes"] for name, element in self.elements("envoy_virtual_host").items()}

    def head(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.elements("envoy_virtual_host")[name].get("head") or []
        return found

    def chains(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.elements("envoy_listener")[name]["config"]["filter_chains"]
        return found

    def problems(self) -> list[tuple[str, str, str]]:
        """(kind, namespace:name, reason)"""
        return sorted((problem.kind, problem.name, problem.reason) for problem in self.service.problems)


def plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: msgspec.json.decode(value.text) if isinstance(value, Opaque) and value else thaw(value)
        for name, value in properties.items()
    }


def route_configurations(chains: list[dict[str, Any]]) -> list[str]:
    return [chain["filters"][0]["typed_config"]["rds"]["route_config_name"] for chain in chains]

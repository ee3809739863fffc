"""Ingress of ``extensions/v1beta1`` and ``networking.k8s.io/v1beta1``: backends in one level, ``backend`` for all.

There a backend is ``{serviceName, servicePort}``; in the stored ``networking.k8s.io/v1`` it is ``{service: {name, port:
{number | name}}}``, and the one without a rule is ``defaultBackend``. ``resource`` is the same in all versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intentc.model.manifest import Conversion

Json = dict[str, Any]


def _stored(fields: Json) -> Json:
    return _converted(fields, "backend", "defaultBackend", _stored_backend)


def _v1beta1(fields: Json) -> Json:
    return _converted(fields, "defaultBackend", "backend", _flat_backend)


def _converted(fields: Json, old: str, new: str, backend: Callable[[Any], Any]) -> Json:
    result = {field: value for field, value in fields.items() if field != old}
    if old in fields:
        result[new] = backend(fields[old])
    if isinstance(result.get("rules"), list):
        result["rules"] = [_rule(rule, backend) for rule in result["rules"]]
    return result


def _rule(rule: Any, backend: Callable[[Any], Any]) -> Any:
    """A rule with converted backends. What has another form stays, so that admission can say so."""
    http = rule.get("http") if isinstance(rule, dict) else None
    paths = http.get("paths") if isinstance(http, dict) else None
    if not isinstance(http, dict) or not isinstance(paths, list):
        return rule
    converted = [
        {**path, "backend": backend(path["backend"])} if isinstance(path, dict) and "backend" in path else path
        for path in paths
    ]
    return {**rule, "http": {**http, "paths": converted}}


def _stored_backend(backend: Any) -> Any:
    if not isinstance(backend, dict):
        return backend
    rest = {field: value for field, value in backend.items() if field not in ("serviceName", "servicePort")}
    service: Json = {}
    if "serviceName" in backend:
        service["name"] = backend["serviceName"]
    if "servicePort" in backend:
        port = backend["servicePort"]
        service["port"] = {"name": port} if isinstance(port, str) else {"number": port}
    return {**rest, "service": service} if service else rest


def _flat_backend(backend: Any) -> Any:
    if not isinstance(backend, dict) or not isinstance(backend.get("service"), dict):
        return backend
    service = backend["service"]
    rest = {field: value for field, value in backend.items() if field != "service"}
    if "name" in service:
        rest["serviceName"] = service["name"]
    port = service.get("port")
    if isinstance(port, dict):
        rest["servicePort"] = port["name"] if port.get("name") else port.get("number", 0)
    return rest


V1BETA1 = Conversion(_stored, _v1beta1)

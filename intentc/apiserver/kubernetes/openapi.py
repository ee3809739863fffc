"""OpenAPI documents of the offered resources, version 3 for each group's version and version 2 for all together.

Why it exists: ``kubectl explain`` and ``apply`` read fields and types from them, and look in the operations of a kind
whether the server understands ``dryRun`` and ``fieldValidation``. ``model/structural_schema`` makes the kinds' schemas.
kubectl before 1.27 asks for version 2 in gnostic's binary form alone (``encoded``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc.model.protobuf import double, field, text
from intentc.model.structural_schema import Node, structural_schema

from .catalog import Catalog, Offered, group_path

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_GVK = "x-kubernetes-group-version-kind"
_FREE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_QUERY = {
    "create": ("dryRun", "fieldManager", "fieldValidation"),
    "update": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"),
    "list": ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"),
    "get": (),
}
_METHODS = {"create": "post", "list": "get", "get": "get", "update": "put", "patch": "patch", "delete": "delete"}
_TYPES = {"force": "boolean", "watch": "boolean", "limit": "integer", "gracePeriodSeconds": "integer"}

_META: Node = {
    "description": "What every resource has: its name, its labels, and what the server knows about it.",
    "type": "object",
    "properties": {
        "name": {"description": "The name, unique among resources of the kind in a namespace.", **_TEXT},
        "generateName": {"description": "A prefix; the server completes it to a name.", **_TEXT},
        "namespace": {"description": "The namespace; it need not be created.", **_TEXT},
        "labels": {"description": "Texts by which resources are selected.", **_TEXTS},
        "annotations": {"description": "Texts for tools and people.", **_TEXTS},
        "uid": {"description": "The uuid of the resource.", **_TEXT},
        "resourceVersion": {"description": "The revision in etcd at which it was written.", **_TEXT},
        "generation": {"description": "Raised by each change of anything but metadata and status.", "type": "integer"},
        "creationTimestamp": {"description": "When it was created.", "format": "date-time", **_TEXT},
        "deletionTimestamp": {"description": "When its deletion was requested.", "format": "date-time", **_TEXT},
        "deletionGracePeriodSeconds": {"description": "Not used.", "type": "integer"},
        "finalizers": {"description": "Who must finish before it is removed.", "type": "array", "items": _TEXT},
        "ownerReferences": {
            "description": "What it belongs to.",
            "type": "array",
            "items": {"type": "object", _FREE: True},
        },
        "managedFields": {
            "description": "Which manager applied which field.",
            "type": "array",
            "items": {"type": "object", _FREE: True},
        },
        "selfLink": {"description": "Not used.", **_TEXT},
    },
}


def index(catalog: Catalog) -> dict[str, Any]:
    """``/openapi/v3``: the documents of all versions."""
    paths = [group_path(group, version) for group in ["", *catalog.groups()] for version in catalog.versions(group)]
    return {"paths": {path[1:]: {"serverRelativeURL": f"/openapi/v3{path}"} for path in paths}}


def version_3(offered: Iterable[Offered]) -> dict[str, Any]:
    """The document of one group's version."""
    resources = list(offered)
    schemas: Node = {OBJECT_META: _META}
    paths: Node = {}
    for one in resources:
        name = definition_name(one)
        schemas[name] = _definition(one, {"allOf": [{"$ref": f"#/components/schemas/{OBJECT_META}"}]})
        paths |= _paths(one, f"#/components/schemas/{name}")
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {"schemas": schemas},
    }


def version_2(catalog: Catalog) -> dict[str, Any]:
    """The document of everything. Where unknown fields are kept, no field is named: kubectl would reject the others."""
    definitions: Node = {OBJECT_META: _narrowed(_META)}
    paths: Node = {}
    for one in catalog.every():
        name = definition_name(one)
        whole = _definition(one, {"$ref": f"#/definitions/{OBJECT_META}"})
        # At the top only the further fields of an opaque kind are free.
        properties = {field: _narrowed(node) for field, node in whole["properties"].items()}
        definitions[name] = {**{key: whole[key] for key in whole if key != _FREE}, "properties": properties}
        paths |= _paths(one, "")
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": definitions}


_INFO = {"title": "intentc", "version": "v1"}


def definition_name(offered: Offered) -> str:
    """The name of a kind's schema: the group's parts in reverse, the version, and the kind."""
    parts = reversed(offered.group.split(".")) if offered.group else ["io", "k8s", "api", "core"]
    return ".".join([*parts, offered.version, offered.name])


def _definition(offered: Offered, metadata: Node) -> Node:
    whole = structural_schema(offered.kind, offered.api_version)
    properties = {**whole["properties"], "metadata": metadata}
    if offered.kind.opaque:
        # kubectl 1.20 writes an empty one into manifests, and checks them against this document.
        properties.setdefault("status", {"type": "object", _FREE: True})
    return {**whole, "properties": properties, _GVK: [_gvk(offered)]}


def _gvk(offered: Offered) -> dict[str, str]:
    return {"group": offered.group, "kind": offered.name, "version": offered.version}


def _paths(offered: Offered, schema: str) -> Node:
    root = group_path(offered.group, offered.version)
    below = f"{root}/namespaces/{{namespace}}/{offered.resource}" if offered.is_namespaced else offered.path
    paths: Node = {
        below: _operations(offered, schema, "create", "list"),
        f"{below}/{{name}}": _operations(offered, schema, "get", "update", "patch", "delete"),
    }
    if offered.is_namespaced:
        paths[offered.path] = _operations(offered, schema, "list")
    return paths


def _operations(offered: Offered, schema: str, *verbs: str) -> Node:
    return {
        _METHODS[verb]: {
            "operationId": f"{verb}{offered.name}{offered.version}",
            "parameters": [_parameter(name, is_v3=bool(schema)) for name in _QUERY[verb]],
            "responses": {"200": _response(schema)},
            "x-kubernetes-action": verb,
            _GVK: _gvk(offered),
        }
        for verb in verbs
    }


def _parameter(name: str, *, is_v3: bool) -> Node:
    kind = {"type": _TYPES.get(name, "string")}
    return {"name": name, "in": "query", **({"schema": kind} if is_v3 else kind)}


def _response(schema: str) -> Node:
    content = {"content": {"application/json": {"schema": {"$ref": schema}}}} if schema else {}
    return {"description": "OK", **content}


def _narrowed(node: Node) -> Node:
    """A node as version 2 can say it."""
    if node.get(_FREE) or node.get(_INT_OR_STRING):
        return {key: node[key] for key in ("description", _FREE, _INT_OR_STRING) if key in node}
    result = dict(node)
    if "properties" in node:
        result["properties"] = {name: _narrowed(below) for name, below in node["properties"].items()}
    if "items" in node:
        result["items"] = _narrowed(node["items"])
    return result


MESSAGES_MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The content type; Go does not take the form with an @ any more, in which older clients ask for it."""


_METHOD_FIELDS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def encoded(document: dict[str, Any]) -> bytes:
    """``openapi.version_2`` as bytes: a ``Document`` of gnostic's OpenAPIv2.proto, which numbers the fields."""
    info = document["info"]
    paths = (_named(path, _path_item(operations)) for path, operations in document["paths"].items())
    definitions = (_named(name, _schema(node)) for name, node in document["definitions"].items())
    return b"".join(
        (
            text(1, document["swagger"]),
            field(2, text(1, info["title"]) + text(2, info["version"])),
            field(8, _repeated(2, paths)),
            field(9, _repeated(1, definitions)),
        )
    )


def _path_item(operations: dict[str, Any]) -> bytes:
    numbered = sorted((_METHOD_FIELDS[method], operation) for method, operation in operations.items())
    return b"".join(field(number, _operation(operation)) for number, operation in numbered)


def _operation(operation: dict[str, Any]) -> bytes:
    responses = (
        _named(code, field(1, text(1, response["description"]))) for code, response in operation["responses"].items()
    )
    return b"".join(
        (
            text(5, operation["operationId"]),
            _repeated(8, map(_query_parameter, operation["parameters"])),
            field(9, _repeated(1, responses)),
            _extensions(13, operation),
        )
    )


def _query_parameter(parameter: dict[str, Any]) -> bytes:
    query = text(2, parameter["in"]) + text(4, parameter["name"]) + text(6, parameter["type"])
    return field(1, field(2, field(3, query)))


def _schema(node: dict[str, Any]) -> bytes:
    free = node.get("additionalProperties")
    properties = (_named(name, _schema(below)) for name, below in node.get("properties", {}).items())
    return b"".join(
        (
            text(1, node.get("$ref", "")),
            text(2, node.get("format", "")),
            text(4, node.get("description", "")),
            double(7, node.get("maximum", 0)),
            double(9, node.get("minimum", 0)),
            _repeated(19, (name.encode() for name in node.get("required", ()))),
            _repeated(20, map(_yaml, node.get("enum", ()))),
            field(21, field(1, _schema(free))) if free is not None else b"",
            field(22, text(1, node["type"])) if "type" in node else b"",
            field(23, field(1, _schema(node["items"]))) if "items" in node else b"",
            field(25, _repeated(1, properties)) if node.get("properties") else b"",
            _extensions(31, node),
        )
    )


def _extensions(number: int, holder: dict[str, Any]) -> bytes:
    return _repeated(number, (_named(name, _yaml(value)) for name, value in holder.items() if name.startswith("x-")))


def _yaml(value: Any) -> bytes:
    """JSON is YAML."""
    return field(2, msgspec.json.encode(value) + b"\n")


def _named(name: str, value: bytes) -> bytes:
    return text(1, name) + field(2, value)


def _repeated(number: int, values: Iterable[bytes]) -> bytes:
    return b"".join(field(number, value) for value in values)

"""Writes an OpenAPI v2 document in gnostic's binary form, the only one that kubectl before 1.27 asks for.

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

import msgspec

from . import openapi_v2_pb2 as messages

MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The content type; Go does not take the form with an @ any more, in which older clients ask for it."""


def encoded(document: dict[str, Any]) -> bytes:
    """``openapi.version_2`` as bytes."""
    message = messages.Document(swagger=document["swagger"], info=messages.Info(**document["info"]))
    for path, operations in document["paths"].items():
        item = messages.PathItem(**{method: _operation(one) for method, one in operations.items()})
        message.paths.path.append(messages.NamedPathItem(name=path, value=item))
    for name, node in document["definitions"].items():
        message.definitions.additional_properties.append(messages.NamedSchema(name=name, value=_schema(node)))
    return message.SerializeToString(deterministic=True)


def _operation(operation: dict[str, Any]) -> messages.Operation:
    responses = messages.Responses()
    for code, response in operation["responses"].items():
        value = messages.ResponseValue(response=messages.Response(description=response["description"]))
        responses.response_code.append(messages.NamedResponseValue(name=code, value=value))
    return messages.Operation(
        operation_id=operation["operationId"],
        parameters=[_parameter(one) for one in operation["parameters"]],
        responses=responses,
        vendor_extension=_extensions(operation),
    )


def _parameter(parameter: dict[str, Any]) -> messages.ParametersItem:
    query = messages.QueryParameter(name=parameter["name"], type=parameter["type"])
    setattr(query, "in", parameter["in"])
    whole = messages.Parameter(non_body_parameter=messages.NonBodyParameter(query_parameter_sub_schema=query))
    return messages.ParametersItem(parameter=whole)


def _schema(node: dict[str, Any]) -> messages.Schema:
    # gnostic's own name of the first field is `_ref`, which Python's messages could not be given by keyword.
    message = messages.Schema(
        ref=node.get("$ref", ""),
        format=node.get("format", ""),
        description=node.get("description", ""),
        maximum=node.get("maximum", 0),
        minimum=node.get("minimum", 0),
        required=node.get("required", ()),
        enum=[messages.Any(yaml=_yaml(value)) for value in node.get("enum", ())],
        vendor_extension=_extensions(node),
    )
    if "type" in node:
        message.type.value.append(node["type"])
    if "items" in node:
        message.items.schema.append(_schema(node["items"]))
    if "additionalProperties" in node:
        message.additional_properties.schema.CopyFrom(_schema(node["additionalProperties"]))
    for name, below in node.get("properties", {}).items():
        message.properties.additional_properties.append(messages.NamedSchema(name=name, value=_schema(below)))
    return message


def _extensions(holder: dict[str, Any]) -> list[messages.NamedAny]:
    return [
        messages.NamedAny(name=name, value=messages.Any(yaml=_yaml(value)))
        for name, value in holder.items()
        if name.startswith("x-")
    ]


def _yaml(value: Any) -> str:
    """JSON is YAML."""
    return msgspec.json.encode(value).decode() + "\n"

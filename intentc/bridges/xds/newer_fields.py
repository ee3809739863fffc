"""Encodes fields that Envoy 1.40 knows and the public packages of its messages don't know yet.

Since health checks have names, a cluster may have several; each must have a name then. Without a descriptor the name
can only be written by its number, as an unknown field; protobuf keeps it. Once the packages know the field, nothing is
changed here. ``encoding`` does everything else.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format

from . import wire

_CLUSTER = "envoy.config.cluster.v3.Cluster"
_CHECKS = "health_checks"
_NAME = "name"
_NAME_NUMBER = 27
"""Of ``envoy.config.core.v3.HealthCheck.name``, as Envoy 1.40 itself declares it."""


def parsed(config: dict[str, Any], message: Any) -> Any:
    """Fill ``message`` from v3 JSON and return it. Raises what ``json_format.ParseDict`` raises."""
    checks = config.get(_CHECKS)
    if message.DESCRIPTOR.full_name != _CLUSTER or not isinstance(checks, list) or _known(message):
        return json_format.ParseDict(config, message)
    names = [each.get(_NAME, "") if isinstance(each, dict) else "" for each in checks]
    plain = [_without_name(each) for each in checks]
    json_format.ParseDict({**config, _CHECKS: plain}, message)
    for check, name in zip(message.health_checks, names, strict=True):
        if not isinstance(name, str):
            raise json_format.ParseError(f"{_CHECKS}: {_NAME} {name!r} is no text")
        check.MergeFromString(wire.text(_NAME_NUMBER, name))
    return message


def _without_name(check: Any) -> Any:
    return {key: value for key, value in check.items() if key != _NAME} if isinstance(check, dict) else check


def _known(message: Any) -> bool:
    return _NAME in message.DESCRIPTOR.fields_by_name[_CHECKS].message_type.fields_by_name

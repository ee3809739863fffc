"""Reads settings for the traffic to an upstream from the schema's values into the typed ones of a cluster.

Mapping, TCPMapping, AuthService and the Module share their form (types ``LoadBalancer``, ``CircuitBreaker``,
``Keepalive`` and ``HealthCheck`` of ``types.yml``). All readers raise ``ValueError`` with the mistake, and the caller
reports it on its resource. ``envoy/clusters.py`` converts the values to Envoy's JSON, ``envoy/route.py`` that
of a balancer which hashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..plain import plain, typed
from .header_rules import MOST_ADDITIONS, addition, unremovable
from .traffic import CircuitBreaker, HeaderAddition, Keepalive, LoadBalancer, milliseconds

HASHING = ("ring_hash", "maglev")
"""The policies that choose an endpoint by a part of the request."""
_MOST_CHECKS = 2**32 - 1


class HealthCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One active check: over HTTP if ``path`` is set, else over gRPC for the service ``upstream_name``.

    ``expected_statuses``: (first, last), both included; none: 200.
    ``timeout_ms``, ``interval_ms``: at least 1.
    """

    path: str = ""
    hostname: str = ""
    expected_statuses: tuple[tuple[int, int], ...] = ()
    add_request_headers: tuple[HeaderAddition, ...] = ()
    remove_request_headers: tuple[str, ...] = ()
    upstream_name: str = ""
    authority: str = ""
    timeout_ms: int = 3000
    interval_ms: int = 5000
    healthy_threshold: int = 1
    unhealthy_threshold: int = 2


def load_balancer(value: Any) -> LoadBalancer | None:
    """From the schema's ``LoadBalancer``; None if it is not set."""
    if not value:
        return None
    found = typed(value, LoadBalancer)
    hashed = sum((found.cookie is not None, bool(found.header), found.source_ip))
    if found.policy in HASHING and hashed != 1:
        raise ValueError(f"load_balancer: {found.policy} needs exactly one of cookie, header, source_ip; not {hashed}")
    if found.policy not in HASHING and hashed:
        raise ValueError(f"load_balancer: {found.policy} hashes nothing; leave cookie, header and source_ip out")
    return found


def circuit_breakers(values: Iterable[Any] | None) -> tuple[CircuitBreaker, ...] | None:
    """From the schema's ``CircuitBreaker`` values; one for each priority. None if they are not given."""
    if values is None:
        return None
    found = tuple(typed(value, CircuitBreaker) for value in values)
    if len({each.priority for each in found}) != len(found):
        raise ValueError("circuit_breakers: there is one for each priority, default and high; leave the second one out")
    return found


def keepalive(value: Any) -> Keepalive | None:
    """From the schema's ``Keepalive``; None if it is not set. ``time`` is the older name of ``idle_time``, which takes
    precedence (docs/ambassador.md §5.10)."""
    if value is None:
        return None
    found = plain(value)
    older = found.pop("time", None)
    return typed({"idle_time": older, **found}, Keepalive)


def health_checks(values: Iterable[Any]) -> tuple[HealthCheck, ...]:
    """From the schema's ``HealthCheck`` values; any number of them (docs/ambassador.md §5.11)."""
    return tuple(_health_check(value) for value in values)


def _health_check(value: Any) -> HealthCheck:
    http, grpc = value.health_check.http, value.health_check.grpc
    if bool(http.path) == bool(grpc.upstream_name):
        raise ValueError("health_checks: each has either health_check.http.path or health_check.grpc.upstream_name")
    if any(character.isspace() or not character.isprintable() for character in http.path):
        raise ValueError(f"health_checks: path {http.path!r} has characters that no path has")
    for text in (http.hostname, grpc.upstream_name, grpc.authority):
        if not text.isprintable():
            raise ValueError(f"health_checks: {text!r} has characters that no name has")
    for name in http.remove_request_headers:
        if wrong := unremovable(name):
            raise ValueError(f"health_checks: remove_request_headers: {name!r}: {wrong}")
    if len(http.add_request_headers) > MOST_ADDITIONS:
        raise ValueError(f"health_checks: add_request_headers has more than {MOST_ADDITIONS}")
    for status in http.expected_statuses:
        if not 100 <= status.min <= status.max <= 599:
            raise ValueError(
                f"health_checks: expected_statuses {status.min}-{status.max} is not a range within 100-599"
            )
    for threshold in (value.healthy_threshold, value.unhealthy_threshold):
        if not 1 <= threshold <= _MOST_CHECKS:
            raise ValueError(f"health_checks: a threshold is a number from 1 to {_MOST_CHECKS:,}, not {threshold}")
    return HealthCheck(
        path=http.path,
        hostname=http.hostname,
        expected_statuses=tuple((status.min, status.max) for status in http.expected_statuses),
        add_request_headers=tuple(_header(name, given) for name, given in plain(http.add_request_headers).items()),
        remove_request_headers=http.remove_request_headers,
        upstream_name=grpc.upstream_name,
        authority=grpc.authority,
        timeout_ms=_positive("timeout", value.timeout),
        interval_ms=_positive("interval", value.interval),
        healthy_threshold=value.healthy_threshold,
        unhealthy_threshold=value.unhealthy_threshold,
    )


def _positive(field: str, text: str) -> int:
    found = milliseconds(text)
    if not found:
        raise ValueError(f"health_checks: {field} {text!r} is not a duration; write it as 3s")
    return found


def _header(name: str, given: Any) -> HeaderAddition:
    try:
        return addition(name, given)
    except ValueError as error:
        raise ValueError(f"health_checks: add_request_headers: {name}: {error}") from None

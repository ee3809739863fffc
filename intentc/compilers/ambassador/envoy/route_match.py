"""Converts a ``RouteMatch`` to Envoy's JSON (``envoy.config.route.v3.RouteMatch``).

The host name is not part of it, because routes are in tables by hostname. Exceptions are a regular expression for the
host, and a wildcard if the route is in tables of other names.
"""

from __future__ import annotations

from typing import Any

from ..routing.hostnames import wildcard_regex
from ..routing.route_match import EXACT, PREFIX, REGEX, SEGMENTS, Condition, RouteMatch

PATHS = {EXACT: "path", PREFIX: "prefix", SEGMENTS: "path_separated_prefix"}
"""How a path is matched as a text → Envoy's field for it."""


def route_match(match: RouteMatch) -> dict[str, Any]:
    headers = list(match.headers)
    if match.method:
        headers.append(Condition(":method", REGEX if match.method_regex else EXACT, match.method))
    if match.authority_regex:
        headers.append(Condition(":authority", REGEX, match.authority))
    if match.authority_asked:
        headers.append(Condition(":authority", REGEX, wildcard_regex(match.authority)))
    found = _path(match)
    if headers:
        found["headers"] = [_condition(header) for header in headers]
    if match.query:
        found["query_parameters"] = [_condition(parameter) for parameter in match.query]
    return found


def _path(match: RouteMatch) -> dict[str, Any]:
    if match.path_sort == REGEX:
        # Envoy has `case_sensitive` for texts only.
        return {"safe_regex": {"regex": match.path if match.case_sensitive else f"(?i){match.path}"}}
    found: dict[str, Any] = {PATHS[match.path_sort]: match.path}
    return found if match.case_sensitive else {**found, "case_sensitive": False}


def _condition(condition: Condition) -> dict[str, Any]:
    """The fields that HeaderMatcher and QueryParameterMatcher have in common."""
    if condition.sort == EXACT:
        return {"name": condition.name, "string_match": {"exact": condition.value}}
    if condition.sort == REGEX:
        return {"name": condition.name, "string_match": {"safe_regex": {"regex": condition.value}}}
    return {"name": condition.name, "present_match": True}

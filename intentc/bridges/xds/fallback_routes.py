"""Builds fallback routes: in place of a route that can't be in force, one answers 503 for the same requests.

Why it exists: if the route were left out, its requests would match a wider route, to another upstream with other rules
(without authentication, for example). With the fallback no upstream receives them. ``element_states`` offers it for a
route that Envoy rejects and that was never good, ``world`` for one whose cluster is rejected.

Pure functions of one version, which stays as it is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .encoding import Unencodable, Version, encode
from .kinds import ROUTE

_PATH_ALONE = frozenset(
    {"prefix", "path", "safe_regex", "path_separated_prefix", "connect_matcher", "path_match_policy", "case_sensitive"}
)
"""The fields of a route's match that concern the path."""
_UNAVAILABLE = {"status": 503}


def fallback_routes(rejected: Version) -> tuple[Version, ...]:
    """The versions that may be in force in place of ``rejected``, best first; empty for elements that are no routes.

    The first answers 503 with the same match. Since Envoy may reject the match itself, the second answers 503 for its
    path alone, without the other conditions.
    """
    if rejected.element.kind != ROUTE:
        return ()
    config = msgspec.json.decode(rejected.config)
    match = config.get("match")
    if not isinstance(match, dict):
        return ()
    bare = {name: value for name, value in match.items() if name in _PATH_ALONE}
    found = []
    for one in (match, bare) if bare != match else (match,):
        version = _unavailable(rejected, one)
        if version is not None:
            found.append(version)
    return tuple(found)


def _unavailable(rejected: Version, match: dict[str, Any]) -> Version | None:
    config = {"name": rejected.resource or rejected.element.name, "match": match, "direct_response": _UNAVAILABLE}
    try:
        version = encode(rejected.element._replace(config=config, clusters=()))
    except Unencodable:
        return None
    return version._replace(is_fallback=True)

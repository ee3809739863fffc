"""What stands in for a route that Envoy refuses, as long as nothing of it was ever good: 503, at the same place.

Why it exists: were the route left out, its requests would fall to a wider one, another upstream with other rules
(without authentication, say). So they are answered, and by nobody. When that is offered is left to ``standing``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .encoding import Unencodable, Version, encode
from .kinds import ROUTE

_PATH_ALONE = frozenset(
    {"prefix", "path", "safe_regex", "path_separated_prefix", "connect_matcher", "path_match_policy", "case_sensitive"}
)
"""What a route's match says of the path."""
_UNAVAILABLE = {"status": 503}


def stand_ins(refused: Version) -> tuple[Version, ...]:
    """What may be in force in place of ``refused``, best first: for a route 503 with the same match, and, since the
    match may be what Envoy refuses, 503 for its path alone, whatever else it asks. Empty for everything else."""
    if refused.element.kind != ROUTE:
        return ()
    config = msgspec.json.decode(refused.config)
    match = config.get("match")
    if not isinstance(match, dict):
        return ()
    bare = {name: value for name, value in match.items() if name in _PATH_ALONE}
    found = []
    for one in (match, bare) if bare != match else (match,):
        version = _unavailable(refused, one)
        if version is not None:
            found.append(version)
    return tuple(found)


def _unavailable(refused: Version, match: dict[str, Any]) -> Version | None:
    config = {"name": refused.resource or refused.element.name, "match": match, "direct_response": _UNAVAILABLE}
    try:
        version = encode(refused.element._replace(config=config, clusters=()))
    except Unencodable:
        return None
    return version._replace(stands_in=True)

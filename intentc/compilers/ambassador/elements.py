"""Envoy elements as claims: each with its origins, and with what Envoy said of it if it was refused.

Every listener, virtual host, route, cluster, assignment of endpoints and secret is made here, so that each can be
walked back to the user's resource and field, and none that Envoy refused stays unreported (``envoy_rejection``). What
is in an element is the business of ``envoy/``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from intentc import Claim, Context, Intent, View

from .reasons import PartReasons, Reasons

MOST_ORIGINS = 20
"""An element that more resources share names so many, the first of each kind by name: it must not grow with the world,
and a Module must not vanish behind a thousand Hosts."""


class Origin(msgspec.Struct, frozen=True, order=True):
    """Where an element comes from: the kind and name (``namespace:name``) of a user's resource, and its field (a path
    such as ``spec.retry_policy``), or empty for the whole."""

    kind: str
    name: str
    field: str = ""


def origin(resource: View, field: str = "") -> Origin:
    """``resource``, or a field of it, as an origin."""
    return Origin(resource.kind, ":".join(resource.fq_name), field)


def digest(config: Any) -> str:
    """What says whether an element's ``config`` is still the one that Envoy refused: 32 hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode(config, order="sorted")).hexdigest()[:32]


def element(
    intent: Intent,
    ctx: Context,
    kind: str,
    fq_name: tuple[str, ...],
    config: dict[str, Any],
    origins: Iterable[Origin],
    *,
    why: Callable[[], Reasons],
    parts: Callable[[], PartReasons] = tuple,
    stored: dict[str, Any] | None = None,
    **properties: Any,
) -> Claim:
    """The claim that the Envoy element ``kind`` ``fq_name`` exists with this ``config`` (v3 JSON, names in snake_case).

    If Envoy refused exactly this, a problem on each origin says so, in Envoy's words; the xDS server keeps what was in
    force before (docs/adr/0012). ``why``: the reasons for which it is there, ``parts``: those for parts of it; both
    are asked for only when somebody asks why.
    ``stored``: what stands in etcd in place of ``config``, if ``properties`` hold what the xDS server needs to make the
    one of the other.
    """
    told = _first(origins)
    refused = ctx.find("envoy_rejection", (kind, ":".join(fq_name)))
    if refused is not None and refused.digest == digest(config):
        for one in told:
            message = f"Envoy refuses {kind} {':'.join(fq_name)}: {refused.message}"
            meanwhile = f"; {refused.meanwhile}" if refused.meanwhile else ""
            ctx.problem_on(one.kind, one.name, "RefusedByEnvoy", message + meanwhile)
    claim = intent.owned(kind, fq_name, config=config if stored is None else stored, origins=told, **properties)
    if ctx.explaining:
        for sources in why():
            ctx.because(claim, *sources)
        for part, sources in parts():
            ctx.because(claim, *sources, part=part)
    return claim


def _first(origins: Iterable[Origin]) -> list[Origin]:
    """At most ``MOST_ORIGINS``, sorted: as many of each kind as there is room for."""
    seen: Counter[str] = Counter()
    places: list[tuple[int, Origin]] = []
    for one in sorted(set(origins)):
        seen[one.kind] += 1
        places.append((seen[one.kind], one))
    return sorted(one for _, one in sorted(places)[:MOST_ORIGINS])

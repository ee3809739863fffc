"""Makes claims for Envoy elements, with their origins and with Envoy's rejection if there is one.

Every listener, virtual host, route, cluster, endpoint assignment and secret is made here, so that each leads back to
the user's resource and field, and every rejection by Envoy is reported (``envoy_rejection``). ``envoy/`` computes their
contents.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from intentc import Claim, Context, Intent, Source

MOST_ORIGINS = 20
"""The most origins that one element lists, the first of each kind by name. The list must not grow with the world, and a
thousand Hosts must not displace a Module."""

Sources = tuple[Source, ...]
"""All sources that one reason needs."""

Reasons = Iterable[Sources]

PartReasons = Iterable[tuple[str, Sources]]
"""(part of an element, the sources that one reason for it needs in addition to those of the element)"""


def digest(config: Any) -> str:
    """A hash of ``config`` (32 hexadecimal digits): does a rejection by Envoy still apply to this configuration?"""
    return hashlib.sha256(msgspec.json.encode(config, order="sorted")).hexdigest()[:32]


def element(
    intent: Intent,
    ctx: Context,
    kind: str,
    fq_name: tuple[str, ...],
    config: dict[str, Any],
    origins: Iterable[Source],
    *,
    why: Callable[[], Reasons],
    parts: Callable[[], PartReasons] = tuple,
    stored: dict[str, Any] | None = None,
    report: Callable[[str, str, str, str], None] | None = None,
    **properties: Any,
) -> Claim:
    """Claims that the Envoy element ``kind`` ``fq_name`` exists with this ``config`` (v3 JSON, names in snake_case).

    If Envoy rejected exactly this configuration, each origin gets a problem with Envoy's message; the xDS server keeps
    the last accepted one (docs/adr/0012). ``why`` gives the reasons for the element, ``parts`` those for its parts;
    both are called only for explanations. ``stored`` replaces ``config`` in etcd, if ``properties`` hold what the xDS
    server needs to restore ``config``. ``report`` replaces ``ctx.problem_on``.
    """
    shown = _first(origins)
    rejection = ctx.find("envoy_rejection", (kind, ":".join(fq_name)))
    if rejection is not None and rejection.digest == digest(config):
        for one in shown:
            message = f"Envoy rejects {kind} {':'.join(fq_name)}: {rejection.message}"
            meanwhile = f"; {rejection.meanwhile}" if rejection.meanwhile else ""
            (report or ctx.problem_on)(one.kind, one.name, "RejectedByEnvoy", message + meanwhile)
    places = [one._asdict() for one in shown]
    claim = intent.owned(kind, fq_name, config=config if stored is None else stored, origins=places, **properties)
    if ctx.explaining:
        for sources in why():
            ctx.because(claim, *sources)
        for part, sources in parts():
            ctx.because(claim, *sources, part=part)
    return claim


def _first(origins: Iterable[Source]) -> list[Source]:
    """At most ``MOST_ORIGINS``, sorted: as many of each kind as there is room for."""
    seen: Counter[str] = Counter()
    places: list[tuple[int, Source]] = []
    for one in sorted(set(origins)):
        seen[one.kind] += 1
        places.append((seen[one.kind], one))
    return sorted(one for _, one in sorted(places)[:MOST_ORIGINS])

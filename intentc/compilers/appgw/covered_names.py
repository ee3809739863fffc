"""The names that an Ingress has in ``tls``: no Ingress serves them in the clear (docs/appgw.md §6.5).

An Ingress says so with facts even while it has no part in the gateway; the sites on ports without TLS look them up.

It reads facts through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Context, Fact, View

from .annotations import Annotations
from .certificates import entry_for
from .precedence import Owner
from .sites import names_of

COVERED = "appgw_covered"


def covered_names(ingress: View, annotations: Annotations, owner: Owner) -> Iterator[Fact]:
    """A fact for each name that ``tls`` lists, and for each name of a rule that an entry covers."""
    found = {host.lower() for entry in ingress.tls for host in entry.hosts if host}
    for host in [rule.host for rule in ingress.rules] or [""]:
        names, invalid = names_of(host, annotations.hostname_extension)
        for name in names or (() if invalid else ("",)):
            if entry_for(ingress.tls, name) or (host and entry_for(ingress.tls, host.lower())):
                found.add(name)
    yield from (Fact(COVERED, _key(name), owner) for name in sorted(found))


def covering_owner(ctx: Context, name: str) -> Owner | None:
    """The first Ingress that has ``name``, or all names of its domain (``*.``), in ``tls``; None if there is none."""
    wanted = {name, f"*.{name.partition('.')[2]}"} if "." in name else {name}
    found: list[Owner] = [value for one in sorted(wanted) for _, value in ctx.contributions(COVERED, _key(one))]
    return min(found, default=None)


def _key(name: str) -> str:
    return f"name|{name}"

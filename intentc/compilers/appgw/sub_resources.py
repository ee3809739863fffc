"""Claims for sub-resources, each with its origins; and the gateway that they belong to, as facts show it: its id, what
it has, which names are free, and who has a port or a site (docs/appgw.md §4, §5, §6.6, §10).

``application_gateway.py`` yields what the publisher read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc import Claim, Context, Fact, Intent, Source, Waiting

from .settings import Settings
from .sites import HTTP, HTTPS, Site
from .sub_resource_names import PORTS, Names, Owner, distinct, limited, sub_id

MOST_ORIGINS = 20
"""The most origins that one object lists: the list must not grow with the number of Ingresses."""


def of_ingress(owner: Owner, field: str = "") -> Source:
    return Source("ingress", owner.shown, field)


def sub_resource(
    intent: Intent,
    kind: str,
    gateway: str,
    collection: str,
    name: str,
    content: dict[str, Any],
    origins: Iterable[Source],
    **further: Any,
) -> Claim:
    """A claim that the gateway has the sub-resource ``name`` of ``collection`` with ``content`` as its properties."""
    config = {"id": sub_id(gateway, collection, name), "name": name, "properties": content}
    first = [one._asdict() for one in sorted(set(origins))[:MOST_ORIGINS]]
    return intent.owned(kind, (name,), config=config, origins=first, **further)


THIS = "this"
"""The only name of the fact ``appgw_present``."""
NOBODY = "00000000-0000-0000-0000-000000000000"
"""The subscription of a gateway whose id nobody says."""


class Present(msgspec.Struct, frozen=True):
    """The gateway that the publisher has read (fact ``appgw_present``): its id, the tier of its SKU, and the compiler's
    settings."""

    id: str
    tier: str
    config: Settings


def this_gateway(ctx: Context) -> Present:
    """The gateway; the intent waits until the publisher has read it."""
    found: Present = known(ctx, "appgw_present", THIS)
    return found


def known(ctx: Context, kind: str, name: str) -> Any:
    """The value of a fact that another intent is sure to yield; the intent waits while there is none."""
    found = ctx.fact(kind, name)
    if found is None:
        raise Waiting(("fact", kind, name))
    return found


def is_installed(ctx: Context, collection: str, name: str) -> bool:
    """Whether the gateway has a sub-resource that an Ingress names."""
    return ctx.contributed("appgw_installed", f"{collection}/{name}")


def port_id(ctx: Context, gateway: str, names: Names, number: int) -> str:
    return sub_id(gateway, PORTS, port_name(ctx, names, number))


def port_name(ctx: Context, names: Names, number: int) -> str:
    """The name of the port that the gateway has with this number, otherwise ours."""
    found = ctx.contributions("appgw_port_name", str(number))
    return str(found[0][1]) if found else limited(names.port(number))


def wanted_name(collection: str, name: str, source: tuple[str, ...], owner: Owner) -> Fact:
    """The contribution of one source to a name."""
    return Fact("appgw_name", f"{collection}/{limited(name)}", (owner, source))


def given_name(ctx: Context, collection: str, name: str, source: tuple[str, ...], owner: Owner) -> str:
    """The name of what ``source`` makes: ``name``, unless another source with precedence has it."""
    found = ctx.contributions("appgw_name", f"{collection}/{limited(name)}")
    first = min([(owner, source), *(value for _, value in found)])
    return limited(name) if first[1] == source else distinct(name, source)


def protocol_holder(ctx: Context, site: Site) -> Owner | None:
    """The Ingress because of which a protocol is not spoken on a port, since it asks for another one first."""
    other = HTTP if site.protocol == HTTPS else HTTPS
    port = f"{site.frontend}|{site.port}"
    if not ctx.contributed("appgw_port_protocol", f"{port}|{other}"):
        return None
    theirs = _first(ctx, f"{port}|{other}")
    mine = _first(ctx, f"{port}|{site.protocol}")
    if theirs is None or (mine is not None and (mine, site.protocol == HTTP) < (theirs, other == HTTP)):
        return None
    return theirs


def _first(ctx: Context, name: str) -> Owner | None:
    owners: list[Owner] = [value for _, value in ctx.contributions("appgw_port_protocol", name)]
    return min(owners, default=None)


def foreign_listener(ctx: Context, site: Site) -> str:
    """The listener of others that has a site, in mode ``marked``; empty if there is none."""
    found = ctx.contributions("appgw_foreign_site", f"{site.frontend}|{site.port}")
    sites: tuple[tuple[str, str], ...] = found[0][1] if found else ()
    return next((listener for host, listener in sites if host == site.name), "")

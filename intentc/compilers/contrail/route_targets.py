"""Route targets: how they are written, which one is an object's own, and onto which routing instance they go
(docs/contrail.md D.1).

Own ones are numbered from the ledger and carry the autonomous system of the moment; configured ones are named by
users. Which object has which, and when, is for the intents to say.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import NamedTuple

from intentc import Claim, Context, Intent, ResourceClaim, View, refer, shared

NUMBER_POOL = "route_target_number"
"""The API server's pool of route target numbers (docs/contrail.md B.6)."""

NUMBER_PURPOSE = "route_target"

DEFAULT_AUTONOMOUS_SYSTEM = 64512

FIRST_NUMBER = 8_000_100
"""The start of the pool as seeded (docs/contrail.md B.6)."""

FIRST_AUTOMATIC = 8_000_000
"""From here on numbers under the installation's own autonomous system are the compiler's (docs/contrail.md B.7)."""

FIRST_SHORT_NUMBER = 8_000
SHORT_NUMBERS = 32_768 - 8_000
"""Under an autonomous system of four bytes a number has two, and those from 32,768 on are left to users
(docs/contrail.md D.1)."""

BOTH, IMPORT, EXPORT = "", "import", "export"
"""Values of ``import_export`` on the reference of a routing instance; left out means both."""

GLOBAL_SYSTEM_CONFIG = ("default-global-system-config",)
_FORM = re.compile(r"target:([0-9.]+):([0-9]+)")
_FOUR_BYTES = 2**32


class RouteTarget(NamedTuple):
    """``administrator``: the number of an autonomous system, or an IPv4 address."""

    administrator: int | ipaddress.IPv4Address
    number: int


def parse_route_target(text: str) -> RouteTarget:
    """``target:<AS number or IPv4 address>:<number>``. Raises ``ValueError`` saying what is wrong.

    >>> parse_route_target("target:64512:7")
    RouteTarget(administrator=64512, number=7)
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no route target; write target:<AS number or IPv4 address>:<number>")
    administrator, number = match[1], int(match[2])
    if number >= _FOUR_BYTES:
        raise ValueError(f"number {number} of route target {text!r} is over {_FOUR_BYTES - 1}")
    if "." in administrator:
        try:
            return RouteTarget(ipaddress.IPv4Address(administrator), number)
        except ValueError:
            raise ValueError(f"{administrator!r} in route target {text!r} is no IPv4 address") from None
    if int(administrator) >= _FOUR_BYTES:
        raise ValueError(f"autonomous system {administrator} of route target {text!r} is over {_FOUR_BYTES - 1}")
    return RouteTarget(int(administrator), number)


def effective(targets: Iterable[str], field: str, ctx: Context) -> set[str]:
    """Those of ``targets``, which a user wrote into ``field``, that have an effect: route targets outside the automatic
    range, so that none ever joins its owner to a network of somebody else. A problem for each other one."""
    good = set()
    for text in dict.fromkeys(targets):
        try:
            target = parse_route_target(text)
        except ValueError as error:
            ctx.problem("MalformedRouteTarget", f"{field}: {error}; it is left out")
            continue
        if is_automatic(target, autonomous_system(ctx)):
            message = (
                f"{field}: {text} lies in the range from which the compiler numbers route targets, and would join "
                "another's network; it has no effect: take it out, or choose a number outside"
            )
            ctx.problem("AutomaticRouteTarget", message)
        else:
            good.add(text)
    return good


def is_automatic(target: RouteTarget, system: int) -> bool:
    """Whether the compiler may number ``target`` under the autonomous system ``system`` (docs/contrail.md B.7, D.1)."""
    if target.administrator != system or isinstance(target.administrator, ipaddress.IPv4Address):
        return False
    if system > 0xFFFF:
        return FIRST_SHORT_NUMBER <= target.number < FIRST_SHORT_NUMBER + SHORT_NUMBERS
    return target.number >= FIRST_AUTOMATIC


def autonomous_system(ctx: Context) -> int:
    """The installation's, as it is now."""
    config = ctx.find("global_system_config", GLOBAL_SYSTEM_CONFIG)
    return (config.autonomous_system if config else 0) or DEFAULT_AUTONOMOUS_SYSTEM


def own_route_target(owner: Intent, ctx: Context) -> ResourceClaim | None:
    """The route target that ``owner`` has for itself: its number stays for its whole life, the autonomous system is the
    installation's. None, and a problem, if that has four bytes and the number can't be written in two.

    A route target that somebody else made is never used: ``owner`` keeps the number, so that nobody else gets it, and
    has another one for as long as that route target is there; a problem says so."""
    system = autonomous_system(ctx)
    for place in count(1):
        number = _written(ctx.allocate(NUMBER_POOL, number_purpose(place)), system, ctx)
        if number is None:
            return None
        name = f"target:{system}:{number}"
        if not ctx.is_taken("route_target", (name,)):
            return owner.owned("route_target", (name,))
        message = (
            f"{name} would be its own route target, but somebody else made that one; it has another number until that "
            "one is deleted"
        )
        ctx.problem("RouteTargetTaken", message)
    raise AssertionError("counting has no end")


def number_purpose(place: int) -> str:
    """For what an owner holds its number in this place; all but the first are for want of a free name."""
    return NUMBER_PURPOSE if place == 1 else f"{NUMBER_PURPOSE}.{place}"


def _written(number: int, system: int, ctx: Context) -> int | None:
    """How ``number`` of the pool is written under the autonomous system ``system``; None, and a problem, if it can't
    be."""
    if system <= 0xFFFF:
        return number
    offset = number - FIRST_NUMBER
    if 0 <= offset < SHORT_NUMBERS:
        return FIRST_SHORT_NUMBER + offset
    message = (
        f"number {number} of pool {NUMBER_POOL} has no place under the four-byte autonomous system {system}: "
        f"it takes {FIRST_NUMBER} to {FIRST_NUMBER + SHORT_NUMBERS - 1}; let the pool lie there"
    )
    ctx.problem("RouteTargetNumber", message)
    return None


def primary_routing_instance(network: View, ctx: Context) -> View | None:
    """The routing instance that the server makes for a network and names after it; None while it isn't there."""
    return ctx.find("routing_instance", primary_name(network))


def primary_name(network: View) -> tuple[str, ...]:
    """What the server calls a network's routing instance."""
    return (*network.fq_name, network.name)


def merged_lists(both: set[str], imported: set[str], exported: set[str]) -> dict[str, str]:
    """The list algebra of docs/contrail.md D.1: target → import_export, sorted by target. What is imported and exported
    is both; what is both is no longer one of them."""
    directions = dict.fromkeys(imported, IMPORT) | dict.fromkeys(exported, EXPORT)
    directions |= dict.fromkeys(both | imported & exported, BOTH)
    return dict(sorted(directions.items()))


def configured_claims(instances: Iterable[View], directions: Mapping[str, str]) -> Iterator[Claim]:
    """That the targets exist and that each of ``instances`` refers to them; ``directions``: target → import_export.
    Without an instance nobody needs them."""
    for position, instance in enumerate(instances):
        for text, direction in directions.items():
            target = shared("route_target", (text,))
            if position == 0:
                yield target
            yield refer(instance, target, import_export=direction)

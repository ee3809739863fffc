"""Route targets: their form, the own target of an object, and the lists that users write (docs/contrail.md D.1, D.11).

The API server allocates the numbers of own targets, whose names contain the current autonomous system; users name
configured targets. Those that can't take effect are reported here. ``route_target_sources.py`` explains targets; the
intents decide which object has which targets.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import NamedTuple

from intentc import Context, Intent, ReferenceClaim, ResourceClaim, View, refer, shared

NUMBER_POOL = "route_target_number"
"""The API server's pool of route target numbers (docs/contrail.md B.6)."""

NUMBER_PURPOSE = "route_target"

DEFAULT_AUTONOMOUS_SYSTEM = 64512

FIRST_NUMBER = 8_000_100
"""The default start of the pool (docs/contrail.md B.6)."""

FIRST_AUTOMATIC = 8_000_000
"""Numbers from here on, under the autonomous system of ``global_system_config``, belong to the compiler
(docs/contrail.md B.7)."""

FIRST_SHORT_NUMBER = 8_000
SHORT_NUMBERS = 32_768 - 8_000
"""Under a four-byte autonomous system a number has two bytes, and users keep those from 32,768 on (docs/contrail.md
D.1)."""

BOTH, IMPORT, EXPORT = "", "import", "export"
"""Values of ``import_export`` on the reference of a routing instance; a missing value means both."""

GLOBAL_SYSTEM_CONFIG = ("default-global-system-config",)

WITHOUT_ROUTE_TARGET = frozenset(
    {
        ("default-domain", "default-project", "ip-fabric", "__default__"),
        ("default-domain", "default-project", "__link_local__", "__link_local__"),
    }
)
"""The routing instances of the fabric itself. They refer to no route target at all: their routes stay there."""

_FORM = re.compile(r"target:([0-9.]{1,20}):([0-9]{1,20})")
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
        raise ValueError(f"{text!r} is not a route target; write target:<AS number or IPv4 address>:<number>")
    administrator, number = match[1], int(match[2])
    if number >= _FOUR_BYTES:
        raise ValueError(f"number {number} of route target {text!r} is over {_FOUR_BYTES - 1}")
    if "." in administrator:
        try:
            return RouteTarget(ipaddress.IPv4Address(administrator), number)
        except ValueError:
            raise ValueError(f"{administrator!r} in route target {text!r} is not an IPv4 address") from None
    if int(administrator) >= _FOUR_BYTES:
        raise ValueError(f"autonomous system {administrator} of route target {text!r} is over {_FOUR_BYTES - 1}")
    return RouteTarget(int(administrator), number)


def effective(resource: View, field: str, targets: Iterable[str], ctx: Context) -> set[str]:
    """The effective ones of ``targets``, which a user wrote into ``field`` of ``resource``; reports the others there.

    Targets in the automatic range have no effect: they would join their owner to somebody else's network.
    """
    own = resource.key == ctx.key
    problem = ctx.problem if own else partial(ctx.problem_on, resource.kind, ":".join(resource.fq_name))
    good = set()
    for text in dict.fromkeys(targets):
        try:
            target = parse_route_target(text)
        except ValueError as error:
            problem("MalformedRouteTarget", f"{field}: {error}; it is left out")
            continue
        if is_automatic(target, autonomous_system(ctx)):
            message = (
                f"{field}: {text} lies in the range from which the compiler numbers route targets, and would join "
                "another's network; it has no effect: remove it, or choose a number outside"
            )
            problem("AutomaticRouteTarget", message)
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
    config = ctx.find("global_system_config", GLOBAL_SYSTEM_CONFIG)
    return (config.autonomous_system if config else 0) or DEFAULT_AUTONOMOUS_SYSTEM


def own_route_target(owner: Intent, ctx: Context) -> ResourceClaim | None:
    """The own route target of ``owner``: its number stays for life, its autonomous system is the current one.

    None, with a problem, if the autonomous system has four bytes and the number does not fit into two. A route target
    that somebody else created is never used: ``owner`` keeps the number, so that nobody else gets it, and has another
    one while that route target exists; a problem says so.
    """
    system = autonomous_system(ctx)
    for place in count(1):
        # The second and later allocations are for names that are taken.
        purpose = NUMBER_PURPOSE if place == 1 else f"{NUMBER_PURPOSE}.{place}"
        number = _written(ctx.allocate(NUMBER_POOL, purpose), system, ctx)
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


def _written(number: int, system: int, ctx: Context) -> int | None:
    """The form of the pool's ``number`` under autonomous system ``system``; None, with a problem, if there is none."""
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
    """The routing instance that the server creates for a network and names after it, as the holder of route targets.

    None while it does not exist, and for the network whose routing instance has none."""
    name = primary_name(network)
    return None if name in WITHOUT_ROUTE_TARGET else ctx.find("routing_instance", name)


def primary_name(network: View) -> tuple[str, ...]:
    return (*network.fq_name, network.name)


def configured_claims(
    instances: Iterable[View], directions: Mapping[str, str]
) -> Iterator[ResourceClaim | ReferenceClaim]:
    """Claims the targets, and a reference to each from each of ``instances``; ``directions``: target → import_export.
    Without an instance it claims nothing."""
    for position, instance in enumerate(instances):
        for text, direction in directions.items():
            target = shared("route_target", (text,))
            if position == 0:
                yield target
            yield refer(instance, target, import_export=direction)


LISTS = ("route_target_list", "import_route_target_list", "export_route_target_list")

Directions = Mapping[str, str]
"""Route target → ``import_export``, sorted by target."""


def list_directions(resource: View, ctx: Context) -> Directions:
    """The targets of the three lists of ``resource``."""
    both, imported, exported = (effective(resource, field, resource.field(field).route_target, ctx) for field in LISTS)
    return united(dict.fromkeys(both, BOTH), dict.fromkeys(imported, IMPORT), dict.fromkeys(exported, EXPORT))


def bgpvpn_directions(holder: View, ctx: Context) -> Directions:
    """The targets of all BGP VPNs that ``holder`` refers to."""
    return united(*(list_directions(bgpvpn, ctx) for bgpvpn in holder.references("bgpvpn")))


def united(*sources: Directions) -> Directions:
    """All targets of ``sources``. Where these give a target different directions, it has both.

    >>> united({"target:1:1": "import", "target:1:2": "export"}, {"target:1:1": "export"})
    {'target:1:1': '', 'target:1:2': 'export'}
    """
    found: dict[str, str] = {}
    for directions in sources:
        for target, direction in directions.items():
            found[target] = direction if found.get(target, direction) == direction else BOTH
    return dict(sorted(found.items()))

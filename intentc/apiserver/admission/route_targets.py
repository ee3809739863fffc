"""Checks the names of route targets, and that no user's is one that compilers allocate (docs/contrail.md B.7, D.1).

A network that names the target of another one joins the two, whoever owns the other one. So the route targets that
users create, and those that networks, routers, BGP VPNs, static routes and routing policies name, must be outside the
automatic range of the installation's autonomous system: when they are written, and when the autonomous system changes.
The compiler handles those that exist nevertheless.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from intentc.model import Name

from ..documents import Document
from ..errors import BadRequest
from ..integers import parse_integer
from ..rule_reader import Reader
from ..sources import Source
from .rules import Change, Rules
from .well_known import OBJECTS, mark_of

LISTS: Mapping[str, tuple[str, ...]] = {
    "virtual_network": ("route_target_list", "import_route_target_list", "export_route_target_list"),
    "logical_router": ("configured_route_target_list",),
    "bgpvpn": ("route_target_list", "import_route_target_list", "export_route_target_list"),
    "routing_instance": ("static_route_entries",),
    "routing_policy": ("routing_policy_entries",),
}
"""Kind → its properties that name route targets."""

REFERENCES: Mapping[str, str] = {"logical_router": "route_target_refs"}
"""Kind → its references to route targets that users and compilers share."""

DEFAULT_AUTONOMOUS_SYSTEM = 64_512
LONGEST_TWO_BYTE_SYSTEM = 65_535
FIRST_AUTOMATIC = 8_000_000
FIRST_SHORT_AUTOMATIC = 8_000
FIRST_SHORT_OF_USERS = 32_768
"""Under an autonomous system of four bytes the compiler's numbers lie between these two; the others are users'."""

_TARGET = "route_target"
_SYSTEM = Name("global_system_config", ("default-global-system-config",))
_SEEDED = frozenset(tuple(fields["fq_name"]) for kind, fields in OBJECTS if kind == _TARGET)
"""The names of the server's own route targets."""
_CONDITION = "term_match_condition"
"""The field of a routing policy's terms that only matches routes, and so joins no networks."""


def is_automatic(target: str, system: int) -> bool:
    """Whether the compiler may allocate ``target`` under the autonomous system ``system``.

    Texts that are no route targets, and those with an IPv4 address, are not."""
    prefix, _, rest = target.partition(":")
    administrator, _, number = rest.partition(":")
    if prefix != "target" or not (_is_number(administrator) and _is_number(number)) or int(administrator) != system:
        return False
    if system <= LONGEST_TWO_BYTE_SYSTEM:
        return int(number) >= FIRST_AUTOMATIC
    return FIRST_SHORT_AUTOMATIC <= int(number) < FIRST_SHORT_OF_USERS


def system_of(config: Document | None) -> int:
    """The autonomous system that a global system config sets; the default without one."""
    return int((config or {}).get("autonomous_system") or DEFAULT_AUTONOMOUS_SYSTEM)


async def check_lists(kind: str, change: Change, reader: Reader) -> None:
    """Check the route targets that the properties of a resource newly name. Raises ``BadRequest``."""
    added = list(_added(kind, change))
    system = await _system(reader) if added else 0
    for field, target in added:
        if is_automatic(target, system):
            raise BadRequest(
                f"{field}: {target} lies in the range from which the compiler numbers route targets "
                f"({_range(system)}); whoever lists it would join another's network. Choose a number outside"
            )


async def check_references(kind: str, change: Change, reader: Reader) -> None:
    """Check the route targets to which a resource newly refers. Raises ``BadRequest``.

    The only automatic one that it may refer to is that which a compiler created for this resource.
    """
    added, field = _added_references(kind, change), REFERENCES[kind]
    system = await _system(reader) if added else 0
    for entry in added:
        target = ":".join(entry["to"])
        if is_automatic(target, system) and not _made_for(change.uuid, await reader.by_uuid(_TARGET, entry["uuid"])):
            raise BadRequest(
                f"{field}: {target} lies in the range from which the compiler numbers route targets "
                f"({_range(system)}); whoever refers to it would join another's network. Choose a number outside"
            )


async def check_system(change: Change, reader: Reader) -> None:
    """Check that no user's route target becomes automatic under a new autonomous system. Raises ``BadRequest``."""
    system = system_of(change.after)
    if change.before is None or system == system_of(change.before):
        return
    targets = {document["uuid"]: document for document in await reader.every(_TARGET)}
    for kind in LISTS:
        for document in await reader.every(kind):
            named = [(field, f"names {target}") for field, target in _named(kind, document)
                     if is_automatic(target, system) and not _is_primary(kind, document)]  # fmt: skip
            for entry in document.get(REFERENCES.get(kind, "")) or ():
                target = ":".join(entry.get("to") or ())
                if is_automatic(target, system) and not _made_for(document["uuid"], targets.get(entry.get("uuid"))):
                    named.append((REFERENCES[kind], f"refers to {target}"))
            for field, text in named:
                raise BadRequest(
                    f"autonomous_system can't become {system}: {kind} {':'.join(document['fq_name'])} {text} in "
                    f"{field}, which would be one of the automatic route targets ({_range(system)}); take it out first"
                )
    for document in targets.values():
        target, is_users = ":".join(document["fq_name"]), mark_of(document) is None
        if is_users and tuple(document["fq_name"]) not in _SEEDED and is_automatic(target, system):
            raise BadRequest(
                f"autonomous_system can't become {system}: the route target {target}, which no compiler made, would be "
                f"one of the automatic ones ({_range(system)}); delete it first"
            )


def _is_compilers(change: Change) -> bool:
    """Whether a new route target is a compiler's, or the server's.

    The mark is required as well: without authorization every caller counts as a compiler, and mistakes should still be
    rejected.
    """
    return change.privileged or (change.by_compiler and mark_of(change.after or {}) is not None)


def _made_for(holder: str, target: Document | None) -> bool:
    """Whether a compiler created ``target`` for the resource with the uuid ``holder``."""
    mark = mark_of(target or {})
    return mark is not None and mark.origin == holder


async def _system(reader: Reader) -> int:
    return system_of(await reader.by_name(_SYSTEM, is_guarded=True))


def _added(kind: str, change: Change) -> Iterator[tuple[str, str]]:
    """(field, target) that the properties name now and did not before."""
    if change.by_compiler and _is_primary(kind, change.after or {}):
        return iter(())
    before = set(_named(kind, change.before or {}))
    return (entry for entry in _named(kind, change.after or {}) if entry not in before)


def _is_primary(kind: str, document: Document) -> bool:
    """Whether this is the primary routing instance of a network. Compilers write its static routes, which name the own
    targets of routers."""
    return kind == "routing_instance" and bool(document.get("routing_instance_is_default"))


def _added_references(kind: str, change: Change) -> list[Document]:
    field = REFERENCES[kind]
    before = {entry.get("uuid") for entry in (change.before or {}).get(field) or ()}
    return [entry for entry in (change.after or {}).get(field) or () if entry.get("uuid") not in before]


def _named(kind: str, document: Document) -> Iterator[tuple[str, str]]:
    """(field, text) for each text in these properties that may be a route target."""
    for field in LISTS[kind]:
        for text in _texts(document.get(field)):
            if text.startswith("target:"):
                yield field, text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name != _CONDITION:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _range(system: int) -> str:
    if system <= LONGEST_TWO_BYTE_SYSTEM:
        return f"target:{system}:{FIRST_AUTOMATIC} and above"
    return f"target:{system}:{FIRST_SHORT_AUTOMATIC} to {FIRST_SHORT_OF_USERS - 1}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len("0004294967295")


class NamingRules(Rules):
    """No route target that the compiler allocates may be named."""

    async def verify(self, change: Change, reader: Reader) -> None:
        await check_lists(self.kind, change, reader)


class RouteTargetRules(Rules):
    """The rules of route targets: ``target:<autonomous system or IPv4 address>:<number>``.

    Only compilers, which mark them, and the server create automatic ones.
    """

    kind: ClassVar[str] = "route_target"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        name = ":".join(change.new["fq_name"])
        if not is_route_target(name):
            raise BadRequest(f"{name!r} is no route target; name it target:<autonomous system or address>:<number>")

    async def verify(self, change: Change, reader: Reader) -> None:
        if change.before is not None or _is_compilers(change):
            return
        target, system = ":".join(change.new["fq_name"]), await _system(reader)
        if is_automatic(target, system):
            raise BadRequest(
                f"{target} lies in the range from which the compiler numbers route targets ({_range(system)}), so the "
                f"compiler alone makes it. Choose a number outside"
            )


def is_route_target(name: str) -> bool:
    """Whether ``name`` has the form of a route target."""
    parts = name.split(":")
    if len(parts) != 3 or parts[0] != "target" or not _is_part(parts[2]):
        return False
    if _is_part(parts[1]):
        return True
    try:
        ipaddress.IPv4Address(parts[1])
    except ValueError:
        return False
    return True


def _is_part(text: str) -> bool:
    number = parse_integer(text)
    return number is not None and number < 1 << 32

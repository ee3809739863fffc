"""Route targets in users' lists: none may be one that the compiler numbers (spec B.7, D.1).

A list that names the target of another network joins the two, whoever owns that other network. So what networks,
routers and BGP VPNs list must lie outside the automatic range of the installation's autonomous system, when the list
is written and when the autonomous system changes. What the compiler makes of lists is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..errors import BadRequest
from .rules import Change, Document, Every, Found, Lookup, UnchangedByName

LISTS: Mapping[str, tuple[str, ...]] = {
    "virtual_network": ("route_target_list", "import_route_target_list", "export_route_target_list"),
    "logical_router": ("configured_route_target_list",),
    "bgpvpn": ("route_target_list", "import_route_target_list", "export_route_target_list"),
}
"""Kind → its fields that list route targets."""

DEFAULT_AUTONOMOUS_SYSTEM = 64_512
LONGEST_TWO_BYTE_SYSTEM = 65_535
FIRST_AUTOMATIC = 8_000_000
FIRST_SHORT_AUTOMATIC = 8_000
FIRST_SHORT_OF_USERS = 32_768
"""Under an autonomous system of four bytes the compiler's numbers lie between these two; the others are users'."""

_SYSTEM = UnchangedByName("global_system_config", ("default-global-system-config",))
_LISTING = tuple(Every(kind) for kind in LISTS)


def is_automatic(target: str, system: int) -> bool:
    """Whether ``target`` is one that the compiler may number under the autonomous system ``system``. Texts that are no
    route targets, and those with an IPv4 address, are not."""
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


def lookups_of_lists(kind: str, change: Change) -> Iterable[Lookup]:
    """What ``check_lists`` must see."""
    return (_SYSTEM,) if any(_added(kind, change)) else ()


def check_lists(kind: str, change: Change, found: Found) -> None:
    """Check what a network, router or BGP VPN newly lists. Raises ``BadRequest``."""
    configs = found.get(_SYSTEM, ())
    system = system_of(configs[0] if configs else None)
    for field, target in _added(kind, change):
        if is_automatic(target, system):
            raise BadRequest(
                f"{field}: {target} lies in the range from which the compiler numbers route targets "
                f"({_range(system)}); whoever lists it would join another's network. Choose a number outside"
            )


def lookups_of_system(change: Change) -> Iterable[Lookup]:
    """What ``check_system`` must see: every list, if the autonomous system changes."""
    changed = change.before is not None and system_of(change.before) != system_of(change.after)
    return _LISTING if changed else ()


def check_system(change: Change, found: Found) -> None:
    """Check that nobody lists what becomes automatic under a new autonomous system. Raises ``BadRequest``."""
    system = system_of(change.after)
    for lookup in _LISTING:
        for document in found.get(lookup, ()):
            for field, target in _listed(lookup.kind, document):
                if is_automatic(target, system):
                    raise BadRequest(
                        f"autonomous_system can't become {system}: {lookup.kind} {':'.join(document['fq_name'])} lists "
                        f"{target} in {field}, which would be one of the automatic route targets "
                        f"({_range(system)}); take it off that list first"
                    )


def _added(kind: str, change: Change) -> Iterator[tuple[str, str]]:
    """(field, target) that stand in the lists now and did not before."""
    before = set(_listed(kind, change.before or {}))
    return (entry for entry in _listed(kind, change.after or {}) if entry not in before)


def _listed(kind: str, document: Document) -> Iterator[tuple[str, str]]:
    for field in LISTS[kind]:
        for target in (document.get(field) or {}).get("route_target") or ():
            yield field, str(target)


def _range(system: int) -> str:
    if system <= LONGEST_TWO_BYTE_SYSTEM:
        return f"target:{system}:{FIRST_AUTOMATIC} and above"
    return f"target:{system}:{FIRST_SHORT_AUTOMATIC} to {FIRST_SHORT_OF_USERS - 1}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len("0004294967295")

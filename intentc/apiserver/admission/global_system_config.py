"""The global configuration: it exists once, and its AS must not take over user's route targets (spec B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest, Forbidden
from .rules import Change, Every, Found, Lookup, Rules, Uuids

_LOWEST_AUTOMATIC = 8_000_000
_LONGEST_TWO_BYTE_AS = 65_535
_DEFAULT_AS = 64_512
_NETWORKS = Every("virtual_network")


class GlobalSystemConfigRules(Rules):
    """Made by the server at its first start; ``autonomous_system`` changes only to one under which no network's
    ``route_target_list`` has a number of the automatic range."""

    kind: ClassVar[str] = "global_system_config"

    def lookups(self, change: Change) -> Iterable[Lookup]:
        return (_NETWORKS,) if change.before is not None and change.changes("autonomous_system") else ()

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.before is None and not change.privileged:
            raise Forbidden("the global system config exists once and can't be created; update it")
        system = after.get("autonomous_system") or _DEFAULT_AS
        if system > _LONGEST_TWO_BYTE_AS and not after.get("enable_4byte_as"):
            raise BadRequest(f"autonomous_system {system} needs enable_4byte_as; set it, or give 1 to 65535")
        for network in found.get(_NETWORKS, ()):
            for target in (network.get("route_target_list") or {}).get("route_target") or ():
                _, asn, number = [*target.split(":"), "", ""][:3]
                if asn == str(system) and number.isdigit() and int(number) >= _LOWEST_AUTOMATIC:
                    raise BadRequest(
                        f"autonomous_system can't become {system}: {':'.join(network['fq_name'])} lists {target}, "
                        f"which would be one of the automatic route targets; take it off that list first"
                    )

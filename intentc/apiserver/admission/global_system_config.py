"""Checks the global configuration: it exists once, its AS must not make users' route targets automatic, and the ports
of BGP as a service stay in their range (docs/contrail.md B.7).

It changes nothing that it gets; it returns the range of the pool of ports. The server reads, allocates and commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest, Forbidden
from . import users_targets
from .rules import Change, Document, Every, Found, Lookup, PoolRange, Rules, Uuids

PORT_POOL = "bgpaas_port"
"""The pool of source ports for BGP as a service (docs/contrail.md B.6)."""

_PORTS = "bgpaas_parameters"
_DEFAULT_PORTS = (50_000, 50_512)


class GlobalSystemConfigRules(Rules):
    """The rules of the global configuration, which the server creates at its first start.

    ``autonomous_system`` may change only if no user has or names a route target of its automatic range. The range of
    ports for BGP as a service may only grow while a service uses it.
    """

    kind: ClassVar[str] = "global_system_config"
    takes_numbers: ClassVar[bool] = True

    def lookups(self, change: Change) -> Iterable[Lookup]:
        if change.before is not None and change.changes(_PORTS):
            yield Every("bgp_as_a_service")

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.before is None and not change.privileged:
            raise Forbidden("the global system config exists once and can't be created; update it")
        system = users_targets.system_of(after)
        if system > users_targets.LONGEST_TWO_BYTE_SYSTEM and not after.get("enable_4byte_as"):
            raise BadRequest(f"autonomous_system {system} needs enable_4byte_as; set it, or give 1 to 65535")
        start, end = ports_of(after)
        if end < start and change.changes(_PORTS):
            raise BadRequest(f"{_PORTS}: port_end {end} is below port_start {start}; give a range of one port or more")
        old_start, old_end = ports_of(change.before or {})
        for lookup in self.lookups(change):
            if found[lookup] and (start > old_start or end < old_end):
                raise BadRequest(
                    f"{_PORTS}: the range {old_start} to {old_end} can't shrink to {start} to {end} while there is a "
                    f"BGP as a service ({':'.join(found[lookup][0]['fq_name'])}); give a range that contains it"
                )

    def numbers(self, change: Change) -> Iterable[PoolRange]:
        if change.after is not None and (change.before is None or change.changes(_PORTS)):
            start, end = ports_of(change.after)
            yield PoolRange(PORT_POOL, start, end + 1)

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_system(change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_system(change, found)


def ports_of(config: Document) -> tuple[int, int]:
    """The first and last port for BGP as a service."""
    given = config.get(_PORTS) or {}
    return given.get("port_start") or _DEFAULT_PORTS[0], given.get("port_end") or _DEFAULT_PORTS[1]

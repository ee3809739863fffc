"""Checks the global configuration: it exists once, and its AS must not make users' route targets automatic
(docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest, Forbidden
from . import users_targets
from .rules import Change, Found, Lookup, Rules, Uuids


class GlobalSystemConfigRules(Rules):
    """The rules of the global configuration, which the server creates at its first start.

    ``autonomous_system`` may change only if no user has or names a route target of its automatic range.
    """

    kind: ClassVar[str] = "global_system_config"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.before is None and not change.privileged:
            raise Forbidden("the global system config exists once and can't be created; update it")
        system = users_targets.system_of(after)
        if system > users_targets.LONGEST_TWO_BYTE_SYSTEM and not after.get("enable_4byte_as"):
            raise BadRequest(f"autonomous_system {system} needs enable_4byte_as; set it, or give 1 to 65535")

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_system(change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_system(change, found)

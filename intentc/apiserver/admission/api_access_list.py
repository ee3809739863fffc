"""Checks access lists: a rule that could never grant anything is rejected, since it looks like one that does."""

from __future__ import annotations

from typing import ClassVar

from ..errors import BadRequest
from .rules import Change, Found, Rules, Uuids

_LETTERS = frozenset("CRUD")


class ApiAccessListRules(Rules):
    """Each rule names an object, each of its permissions a role and letters of CRUD."""

    kind: ClassVar[str] = "api_access_list"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        entries = after.get("api_access_list_entries") or {}
        for place, rule in enumerate(entries.get("rbac_rule") or ()):
            where = f"api_access_list_entries.rbac_rule[{place}]"
            if not rule.get("rule_object"):
                raise BadRequest(f"{where}.rule_object is missing; give a kind, or *")
            for index, perm in enumerate(rule.get("rule_perms") or ()):
                role, letters = perm.get("role_name") or "", perm.get("role_crud") or ""
                if not role:
                    raise BadRequest(f"{where}.rule_perms[{index}].role_name is missing; give a role, or *")
                if not letters or not _LETTERS.issuperset(letters):
                    raise BadRequest(f"{where}.rule_perms[{index}].role_crud is {letters!r}; give letters of CRUD")

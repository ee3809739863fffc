"""Checks API access lists and service instances, and completes nothing in them (docs/contrail.md B.7).

They need no other resource, request no number, and change nothing that they get. A service instance also names the
networks that it acts on, for ``permissions``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from intentc.model import Name

from ..errors import BadRequest
from .names import named
from .rules import Change, Document, Found, Rules, Uuids

_LETTERS = frozenset("CRUD")
_SIDES = ("left", "right", "management")
_TEMPLATES = "service_template_refs"


class ApiAccessListRules(Rules):
    """Each rule names an object, each of its permissions a role and letters of CRUD. Another could never grant
    anything, and looks like one that does."""

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


class ServiceInstanceRules(Rules):
    """An instance has one template at most: its mode and interfaces come from there. It changes the lists of the
    networks that it names (docs/contrail.md D.8.6), or gets ports in them (D.8.10)."""

    kind: ClassVar[str] = "service_instance"

    def joined(self, document: Document) -> Iterable[Name]:
        properties = document.get("service_instance_properties") or {}
        for interface in properties.get("interface_list") or ():
            yield from named("virtual_network", interface.get("virtual_network"))
        yield from named("virtual_network", *(properties.get(f"{side}_virtual_network") for side in _SIDES))

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        templates = (change.after or {}).get(_TEMPLATES) or ()
        if len(templates) > 1 and change.changes(_TEMPLATES):
            raise BadRequest(f"{_TEMPLATES}: a service instance has one template; leave the others out")

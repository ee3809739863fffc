"""Completes and checks projects and application policy sets (docs/contrail.md B.5.10, B.7).

A project has a default set of firewall policies, which applies to all its applications; so has the installation.

``prepare`` and ``admit`` change the references of the document that they get, in place; nothing else is changed. The
server reads and commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from intentc.model.names import Name

from ..errors import BadRequest
from .rules import ByName, Change, ChildrenOf, Document, Found, Lookup, Rules, Uuids

POLICY_SET = "application_policy_set"
DEFAULT_POLICY_SET = "default-application-policy-set"
_REFS = "application_policy_set_refs"
_FOR_ALL = "all_applications"


class ProjectRules(Rules):
    """The rules of projects.

    ``vxlan_routing`` can't change while the project has logical routers. The default application policy set is created
    and deleted with it, and it refers to that set."""

    kind: ClassVar[str] = "project"
    adopts_companions: ClassVar[bool] = True

    def prepare(self, document: Document) -> None:
        if isinstance(document.get(_REFS), list):
            document[_REFS] = [entry for entry in document[_REFS] if not _leads_to_default(entry)]

    def lookups(self, change: Change) -> Iterable[Lookup]:
        if change.before is None or _REFS in change.given:
            yield ByName(POLICY_SET, _default_set(change.after or {}).fq_name)
        if change.before is not None and change.changes("vxlan_routing"):
            yield ChildrenOf(change.uuid, "logical_router")

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        name = _default_set(after)
        existing = found.get(ByName(POLICY_SET, name.fq_name), ())
        if change.before is None or (_REFS in change.given and existing):
            uuid = existing[0]["uuid"] if existing else uuids.uuid(name)
            others = [entry for entry in after.get(_REFS) or () if entry["uuid"] != uuid]
            after[_REFS] = [*others, {"uuid": uuid, "to": list(name.fq_name)}]
        for router in found.get(ChildrenOf(change.uuid, "logical_router"), ()):
            raise BadRequest(
                f"vxlan_routing can't change while the project has logical routers "
                f"({':'.join(router['fq_name'])}); delete them first"
            )

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        after = change.after
        assert after is not None
        name = list(_default_set(after).fq_name)
        uuid = next(entry["uuid"] for entry in after[_REFS] if entry["to"] == name)
        parent = {"parent_type": "project", "parent_uuid": change.uuid}
        yield POLICY_SET, {"uuid": uuid, "fq_name": name, **parent, _FOR_ALL: True}

    def deleted_companions(self, change: Change) -> Iterable[Name]:
        assert change.before is not None
        yield _default_set(change.before)


def _leads_to_default(entry: Any) -> bool:
    """Whether a client's reference names a default set."""
    to = entry.get("to") if isinstance(entry, dict) else None
    return isinstance(to, list) and to[-1:] == [DEFAULT_POLICY_SET]


class ApplicationPolicySetRules(Rules):
    """The default sets are the server's: clients can neither make nor delete one that applies to all applications."""

    kind: ClassVar[str] = POLICY_SET

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        if change.changes(_FOR_ALL) and not change.privileged:
            raise BadRequest(f"{_FOR_ALL} is the server's: the default set of each project has it; leave it out")

    def check_deletion(self, change: Change) -> None:
        if (change.before or {}).get(_FOR_ALL) and not change.privileged:
            raise BadRequest(
                f"the default application policy set (with {_FOR_ALL}) can't be deleted; it is deleted with its project"
            )


def _default_set(project: Document) -> Name:
    return Name(POLICY_SET, (*project["fq_name"], DEFAULT_POLICY_SET))

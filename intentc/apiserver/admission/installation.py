"""Completes and checks the global configuration, projects, policy sets and access lists (docs/contrail.md B.5.10, B.7).

The global configuration exists once. A project has a default set of firewall policies, which applies to all its
applications; so has the installation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from intentc.model import Key
from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest, Forbidden
from ..rule_reader import Reader
from ..sources import Source
from . import route_targets
from .rules import Change, PoolRange, Rules, leads_to
from .well_known import PROJECT, mark_of

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
    allocates: ClassVar[bool] = True

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.before is None and not change.privileged:
            raise Forbidden("the global system config exists once and can't be created; update it")
        system = route_targets.system_of(after)
        if system > route_targets.LONGEST_TWO_BYTE_SYSTEM and not after.get("enable_4byte_as"):
            raise BadRequest(f"autonomous_system {system} needs enable_4byte_as; set it, or give 1 to 65535")
        start, end = ports_of(after)
        if end < start and change.changes(_PORTS):
            raise BadRequest(f"{_PORTS}: port_end {end} is below port_start {start}; give a range of one port or more")
        old_start, old_end = ports_of(change.before or {})
        if change.before is not None and change.changes(_PORTS) and (start > old_start or end < old_end):
            for service in await reader.every("bgp_as_a_service"):
                raise BadRequest(
                    f"{_PORTS}: the range {old_start} to {old_end} can't shrink to {start} to {end} while there is a "
                    f"BGP as a service ({':'.join(service['fq_name'])}); give a range that contains it"
                )

    def allocations(self, change: Change) -> Iterable[PoolRange]:
        if change.after is not None and (change.before is None or change.changes(_PORTS)):
            start, end = ports_of(change.after)
            yield PoolRange(PORT_POOL, start, end + 1)

    async def verify(self, change: Change, reader: Reader) -> None:
        await route_targets.check_system(change, reader)


def ports_of(config: Document) -> tuple[int, int]:
    """The first and last port for BGP as a service."""
    given = config.get(_PORTS) or {}
    return given.get("port_start") or _DEFAULT_PORTS[0], given.get("port_end") or _DEFAULT_PORTS[1]


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
            document[_REFS] = [entry for entry in document[_REFS] if not leads_to(entry, DEFAULT_POLICY_SET)]

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        name = _default_set(after)
        existing = await reader.by_name(name) if change.before is None or _REFS in change.given else None
        if change.before is None or existing is not None:
            uuid = existing["uuid"] if existing is not None else uuids.uuid(name)
            others = [entry for entry in after.get(_REFS) or () if entry["uuid"] != uuid]
            after[_REFS] = [*others, {"uuid": uuid, "to": list(name.fq_name)}]
        if change.before is not None and change.changes("vxlan_routing"):
            for router in await reader.children(change.uuid, "logical_router"):
                raise BadRequest(
                    f"vxlan_routing can't change while the project has logical routers "
                    f"({':'.join(router['fq_name'])}); delete them first"
                )

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        after = change.new
        name = list(_default_set(after).fq_name)
        uuid = next(entry["uuid"] for entry in after[_REFS] if entry["to"] == name)
        parent = {"parent_type": "project", "parent_uuid": change.uuid}
        yield POLICY_SET, {"uuid": uuid, "fq_name": name, **parent, _FOR_ALL: True}

    def deleted_companions(self, change: Change) -> Iterable[Name]:
        yield _default_set(change.old)


class ApplicationPolicySetRules(Rules):
    """The default sets are the server's: clients can neither make nor delete one that applies to all applications."""

    kind: ClassVar[str] = POLICY_SET

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if change.changes(_FOR_ALL) and not change.privileged:
            raise BadRequest(f"{_FOR_ALL} is the server's: the default set of each project has it; leave it out")

    def check_deletion(self, change: Change) -> None:
        if (change.before or {}).get(_FOR_ALL) and not change.privileged:
            raise BadRequest(
                f"the default application policy set (with {_FOR_ALL}) can't be deleted; it is deleted with its project"
            )


def _default_set(project: Document) -> Name:
    return Name(POLICY_SET, (*project["fq_name"], DEFAULT_POLICY_SET))


_LETTERS = frozenset("CRUD")


class ApiAccessListRules(Rules):
    """Each rule names an object, each of its permissions a role and letters of CRUD. Another could never grant
    anything, and looks like one that does."""

    kind: ClassVar[str] = "api_access_list"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
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


BELOW = {"floating_ip_pool": "virtual_network", "loadbalancer_member": "loadbalancer_pool"}
"""Kinds that are counted in the project of their parent, with the parent's kind."""

REFERRING = frozenset({"floating_ip"})
"""Kinds that are counted in the project to which they refer."""

PARTS = {"security_group_rule": "security_group", "subnet": "virtual_network"}
"""Limits of parts of a project's children, with the children's kind."""


class Demand(NamedTuple):
    """A change adds to what one limit counts. ``project``: its key, or that of the parent below it. ``limit``: the
    field of the quota."""

    project: Key
    limit: str


def demands(key: Key, change: Change) -> Iterator[Demand]:
    """What a creation or a change adds. What the server and compilers make counts, and is not limited."""
    before, after = change.before, change.after
    if after is None or change.privileged or (change.by_compiler and mark_of(after) is not None):
        return
    parent = Key(str(after.get("parent_type") or "").replace("-", "_"), str(after.get("parent_uuid") or ""))
    if before is None:
        if parent.kind == PROJECT or BELOW.get(key.kind) == parent.kind:
            yield Demand(parent, key.kind)
        elif key.kind in REFERRING:
            for entry in after.get(f"{PROJECT}_refs") or ():
                yield Demand(Key(PROJECT, entry["uuid"]), key.kind)
    for limit, kind in PARTS.items():
        if kind == key.kind and parent.kind == PROJECT and parts(limit, after) > parts(limit, before or {}):
            yield Demand(parent, limit)


def limit_of(project: Document, name: str) -> int | None:
    """The limit of a project; None without one. A negative number is none."""
    quota = project.get("quota") or {}
    found = quota.get(name) if quota.get(name) is not None else quota.get("defaults")
    return found if isinstance(found, int) and found >= 0 else None


def parts(limit: str, document: Document) -> int:
    """The rules of a security group, or the subnets of a network."""
    if limit == "subnet":
        entries = document.get("network_ipam_refs") or ()
        return sum(len((entry.get("attr") or {}).get("ipam_subnets") or ()) for entry in entries)
    return len((document.get("security_group_entries") or {}).get("policy_rule") or ())

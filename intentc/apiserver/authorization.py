"""Who may do what, decided by mode, caller, rules and an object's ``perms2`` (docs/security.md has the table).

Why it exists: the decision must be readable and testable without a server. Reading rules and objects, and raising
errors, is left to ``permissions``; who the caller is, to ``auth``. The rules are Contrail's (``aaa_mode``).
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from intentc.model import Kind, kebab, snake

from .admission.marks import mark_of
from .admission.tenants import ACCESS_LIST, DOMAIN, EVERYBODY, PROJECT

if TYPE_CHECKING:
    from .resources import Caller

READ, WRITE, REFER = 4, 2, 1
"""The bits of ``owner_access``, ``tenant_access`` and ``global_access``."""

_ANY = "*"


class Mode(enum.Enum):
    """``aaa_mode``."""

    NO_AUTH = "no-auth"
    CLOUD_ADMIN = "cloud-admin"
    RBAC = "rbac"


class Operation(enum.Enum):
    """What a rule allows; the letters of ``role_crud``."""

    CREATE = "C"
    READ = "R"
    UPDATE = "U"
    DELETE = "D"


class Policy(NamedTuple):
    """The configuration of authorization. ``compiler_users``: ids of the users that write the compilers' fields; empty:
    every cloud administrator does."""

    mode: Mode = Mode.NO_AUTH
    cloud_admin_role: str = "admin"
    global_read_only_role: str = ""
    compiler_users: frozenset[str] = frozenset()


class Tenancy(NamedTuple):
    """The ids under which the caller's project and domain may stand in ``perms2``, in the form of ``tenant_id``."""

    projects: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()


class Rule(NamedTuple):
    """One ``rbac_rule``: what roles may do with an object's field. ``kind`` and ``field`` are in snake_case or ``*``;
    ``grants``: (role, letters of operations)."""

    kind: str
    field: str
    grants: tuple[tuple[str, str], ...]


def tenant_id(text: str) -> str:
    """The id of a project or domain in a form that can be compared: Keystone writes uuids without dashes."""
    try:
        return uuid.UUID(text).hex
    except ValueError:
        return text


def is_administrator(policy: Policy, caller: Caller) -> bool:
    """Whether the caller may do everything: the server itself, anybody with no-auth, the cloud admin role. As in
    Contrail, upper and lower case of the role's name are the same."""
    return caller.privileged or policy.mode is Mode.NO_AUTH or _has(caller.roles, policy.cloud_admin_role)


def reads_everything(policy: Policy, caller: Caller) -> bool:
    """Whether the caller may read everything: an administrator, or the global read-only role."""
    return is_administrator(policy, caller) or _has(caller.roles, policy.global_read_only_role)


def is_compiler(policy: Policy, caller: Caller) -> bool:
    """Whether the caller may write the fields that schemas give to compilers."""
    if caller.privileged or policy.mode is Mode.NO_AUTH:
        return True
    if policy.compiler_users:
        return caller.user_id in policy.compiler_users
    return is_administrator(policy, caller)


def may_call(policy: Policy, caller: Caller, *, reading: bool) -> bool:
    """Whether the caller gets as far as rules and ``perms2``; decided before anything of a request is read."""
    if is_administrator(policy, caller) or (reading and reads_everything(policy, caller)):
        return True
    return policy.mode is Mode.RBAC and bool(caller.roles)


def rules_in(entries: Any) -> Iterator[Rule]:
    """The rules of one list's ``api_access_list_entries``."""
    for rule in (entries or {}).get("rbac_rule") or ():
        grants = tuple(
            (perm.get("role_name") or "", perm.get("role_crud") or "") for perm in rule.get("rule_perms") or ()
        )
        yield Rule(snake(rule.get("rule_object") or ""), snake(rule.get("rule_field") or _ANY), grants)


def denied_by_rules(
    rules: Sequence[Rule], roles: Collection[str], kind: Kind, operation: Operation, fields: Collection[str] = ()
) -> str:
    """What no rule allows: a kind, or one of its fields (``kind.field``); empty if all of it is allowed.

    The nearest rules decide: those of a field, else those of the kind, else those of ``*``. To create also takes a rule
    of the kind, whatever the fields. Rules of the same object and field add up, whichever list they stand in.
    ``*`` does not cover changes of access lists: who may do everything with the kinds of a project must not extend its
    own rights.
    """
    own = {kind.name, kind.plural}
    of_kind = [rule for rule in rules if rule.kind in own and rule.field == _ANY]
    if not of_kind and (kind.name != ACCESS_LIST or operation is Operation.READ):
        of_kind = [rule for rule in rules if rule.kind == _ANY and rule.field == _ANY]
    remaining = 0
    for field in sorted(fields):
        names = {field, field.removesuffix("_refs")}
        of_field = [rule for rule in rules if rule.field in names and rule.kind in own | {_ANY}]
        if not of_field:
            remaining += 1
        elif not _granted(of_field, roles, operation):
            return f"{kebab(kind.name)}.{field}"
    if (remaining or not fields or operation is Operation.CREATE) and not _granted(of_kind, roles, operation):
        return kebab(kind.name)
    return ""


def applies(access_list: Mapping[str, Any], tenancy: Tenancy) -> bool:
    """Whether the rules of an access list concern a caller: those of the whole installation, of its domain, and
    of its project."""
    parent, above = snake(access_list.get("parent_type") or ""), tenant_id(access_list.get("parent_uuid") or "")
    if parent == EVERYBODY:
        return True
    return above in {DOMAIN: tenancy.domains, PROJECT: tenancy.projects}.get(parent, frozenset())


def access_to(permissions: Any, tenancy: Tenancy) -> int:
    """What ``perms2`` gives a caller, as bits: as the owner, by a share with its project or domain, and globally."""
    perms = permissions if isinstance(permissions, Mapping) else {}
    bits = _bits(perms.get("global_access"))
    if owns(perms, tenancy):
        bits |= _bits(perms.get("owner_access"))
    shares = perms.get("share")
    for share in shares if isinstance(shares, list) else ():
        if not isinstance(share, Mapping):
            continue
        sort, separator, told = str(share.get("tenant") or "").partition(":")
        ids = tenancy.domains if separator and sort == "domain" else tenancy.projects
        if tenant_id(told if separator else sort) in ids:
            bits |= _bits(share.get("tenant_access"))
    return bits


def owns(permissions: Any, tenancy: Tenancy) -> bool:
    """Whether the caller's project is the owner."""
    owner = permissions.get("owner") if isinstance(permissions, Mapping) else None
    return bool(owner) and tenant_id(str(owner)) in tenancy.projects


def compiler_fields_changed(kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The compilers' own fields in which two states of a resource differ; what is unset in one way or another is
    equal."""
    names = (*kind.compiler_properties, *(f"{relation}_refs" for relation in kind.compiler_relations))
    return [name for name in names if (before.get(name) or None) != (after.get(name) or None)]


def shared_entries_changed(
    kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, str, bool]]:
    """(relation, uuid of a target, whether its name makes the entry a compiler's) for the entries in which lists that
    users and compilers share differ."""
    for name in kind.shared_relations:
        old, new = ({e.get("uuid") or "": e for e in state.get(f"{name}_refs") or ()} for state in (before, after))
        pattern = kind.relations[name].ours
        for uid in sorted(old.keys() | new.keys()):
            entry = old.get(uid) or new[uid]
            if old.get(uid) != new.get(uid):
                yield name, uid, bool(pattern and entry.get("to") and pattern.search(entry["to"][-1]))


def is_marked(document: Mapping[str, Any]) -> bool:
    """Whether a compiler made this resource."""
    return mark_of(document) is not None


def _has(roles: Collection[str], role: str) -> bool:
    return bool(role) and role.lower() in {name.lower() for name in roles}


def _granted(rules: Sequence[Rule], roles: Collection[str], operation: Operation) -> bool:
    return any(
        operation.value in letters and (role == _ANY or role in roles)
        for rule in rules
        for role, letters in rule.grants
    )


def _bits(value: Any) -> int:
    return value & 7 if isinstance(value, int) else 0

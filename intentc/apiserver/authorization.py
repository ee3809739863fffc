"""Decides who may do what, by mode, caller, rules and an object's ``perms2`` (docs/security.md has the table).

Why it exists: the decision must be readable and testable without a server. The rules are Contrail's (``aaa_mode``). It
also finds what a change touches of the fields and entries that are the compilers' alone. ``permissions`` reads rules
and objects and raises errors; ``auth`` identifies the caller.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from intentc.model import Kind, kebab, snake
from intentc.model.ownership import is_our_entry
from intentc.model.values import decode_hook, without_nulls

from .admission.well_known import ACCESS_LIST, DOMAIN, EVERYBODY, PROJECT

READ, WRITE, REFER = 4, 2, 1
"""The bits of ``owner_access``, ``tenant_access`` and ``global_access``."""

ANY = "*"


class Caller(NamedTuple):
    """The caller: its project, its roles there, whether it is the server itself (seeds), the user, and names."""

    project_id: str = "default-project"
    roles: frozenset[str] = frozenset({"admin"})
    privileged: bool = False
    user_id: str = ""
    project_name: str = ""
    domain_id: str = ""
    domain_name: str = ""


class Mode(enum.Enum):
    """``aaa_mode``."""

    NO_AUTH = "no-auth"
    CLOUD_ADMIN = "cloud-admin"
    RBAC = "rbac"


class Operation(enum.Enum):
    """An operation that a rule allows; the values are the letters of ``role_crud``."""

    CREATE = "C"
    READ = "R"
    UPDATE = "U"
    DELETE = "D"


class Policy(NamedTuple):
    """The configuration of authorization.

    ``compiler_users``: ids of the users that write the compilers' fields; empty: every cloud administrator does.
    ``secret_reader_roles``: roles that read secrets, as compilers do.
    """

    mode: Mode = Mode.NO_AUTH
    cloud_admin_role: str = "admin"
    global_read_only_role: str = ""
    compiler_users: frozenset[str] = frozenset()
    secret_reader_roles: frozenset[str] = frozenset()


class Tenancy(NamedTuple):
    """The ids that ``perms2`` may use for the caller's project and domain, in the form of ``tenant_id``."""

    projects: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()


class Rule(NamedTuple):
    """One ``rbac_rule``: what roles may do with a field of a kind.

    ``kind`` and ``field`` are in snake_case or ``*``; ``grants``: (role, letters of operations).
    """

    kind: str
    field: str
    grants: tuple[tuple[str, str], ...]


def tenant_id(text: str) -> str:
    """Normalize the id of a project or domain for comparison: Keystone writes uuids without dashes."""
    try:
        return uuid.UUID(text).hex
    except ValueError:
        return text


def is_administrator(policy: Policy, caller: Caller) -> bool:
    """Whether the caller may do everything: the server itself, anybody with no-auth, the cloud admin role.

    As in Contrail, the case of the role's name does not matter.
    """
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


def reads_secrets(policy: Policy, caller: Caller) -> bool:
    """Whether the caller sees the secrets of resources that it may read."""
    return is_compiler(policy, caller) or any(_has(caller.roles, role) for role in policy.secret_reader_roles)


def may_call(policy: Policy, caller: Caller, *, reading: bool) -> bool:
    """Whether rules and ``perms2`` are checked for the caller at all; decided before the request is read."""
    if is_administrator(policy, caller) or (reading and reads_everything(policy, caller)):
        return True
    return policy.mode is Mode.RBAC and bool(caller.roles)


def rules_in(entries: Any) -> Iterator[Rule]:
    """The rules of one list's ``api_access_list_entries``."""
    for rule in (entries or {}).get("rbac_rule") or ():
        grants = tuple(
            (perm.get("role_name") or "", perm.get("role_crud") or "") for perm in rule.get("rule_perms") or ()
        )
        yield Rule(snake(rule.get("rule_object") or ""), snake(rule.get("rule_field") or ANY), grants)


def denied_by_rules(
    rules: Sequence[Rule], roles: Collection[str], kind: Kind, operation: Operation, fields: Collection[str] = ()
) -> str:
    """The kind or field (``kind.field``) that no rule allows; empty if everything is allowed.

    The most specific rules decide: those of a field, otherwise those of the kind, otherwise those of ``*``. To create
    always needs a rule of the kind. Rules of the same object and field add up, from all lists. ``*`` does not cover
    changes of access lists: a role with all rights in a project must not extend its own rights.
    """
    own = {kind.name, kind.plural}
    of_kind = [rule for rule in rules if rule.kind in own and rule.field == ANY]
    if not of_kind and (kind.name != ACCESS_LIST or operation is Operation.READ):
        of_kind = [rule for rule in rules if rule.kind == ANY and rule.field == ANY]
    remaining = 0
    for field in sorted(fields):
        names = {field, field.removesuffix("_refs")}
        of_field = [rule for rule in rules if rule.field in names and rule.kind in own | {ANY}]
        if not of_field:
            remaining += 1
        elif not _granted(of_field, roles, operation):
            return f"{kebab(kind.name)}.{field}"
    if (remaining or not fields or operation is Operation.CREATE) and not _granted(of_kind, roles, operation):
        return kebab(kind.name)
    return ""


def may_be_granted(
    rules: Sequence[Rule], roles: Collection[str], kind: Kind, operations: Collection[Operation]
) -> bool:
    """Whether any rule about the kind, or a field of it, allows one of ``operations``; then the body decides."""
    about = [rule for rule in rules if rule.kind in (kind.name, kind.plural, ANY)]
    return any(_granted(about, roles, operation) for operation in operations)


def applies(access_list: Mapping[str, Any], tenancy: Tenancy) -> bool:
    """Whether an access list concerns a caller: that of the whole installation, its domain's, or its project's."""
    parent, above = snake(access_list.get("parent_type") or ""), tenant_id(access_list.get("parent_uuid") or "")
    if parent == EVERYBODY:
        return True
    return above in {DOMAIN: tenancy.domains, PROJECT: tenancy.projects}.get(parent, frozenset())


def access_to(permissions: Any, tenancy: Tenancy) -> int:
    """The bits that ``perms2`` gives a caller: as the owner, by a share with its project or domain, and globally."""
    perms = permissions if isinstance(permissions, Mapping) else {}
    bits = _bits(perms.get("global_access"))
    if owns(perms, tenancy):
        bits |= _bits(perms.get("owner_access"))
    shares = perms.get("share")
    for share in shares if isinstance(shares, list) else ():
        if not isinstance(share, Mapping):
            continue
        sort, separator, shared_with = str(share.get("tenant") or "").partition(":")
        ids = tenancy.domains if separator and sort == "domain" else tenancy.projects
        if tenant_id(shared_with if separator else sort) in ids:
            bits |= _bits(share.get("tenant_access"))
    return bits


def owns(permissions: Any, tenancy: Tenancy) -> bool:
    """Whether the caller's project is the owner."""
    owner = permissions.get("owner") if isinstance(permissions, Mapping) else None
    return bool(owner) and tenant_id(str(owner)) in tenancy.projects


def compiler_fields_changed(kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The compilers' own fields in which two states of a resource differ; all forms of unset are equal."""
    names = (*kind.compiler_properties, *(f"{relation}_refs" for relation in kind.compiler_relations))
    return [name for name in names if (before.get(name) or None) != (after.get(name) or None)]


def shared_entries_changed(
    kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, str, bool]]:
    """The changed entries of lists that users and compilers share.

    Yields (relation, uuid of the target, whether the target's name or the attribute makes the entry a compiler's). The
    server serves any number of installations, so it knows none by the uuids that they give.
    """
    for name in kind.shared_relations:
        old, new = ({e.get("uuid") or "": e for e in state.get(f"{name}_refs") or ()} for state in (before, after))
        for uid in sorted(old.keys() | new.keys()):
            if old.get(uid) != new.get(uid):
                entries = [state[uid] for state in (old, new) if uid in state]
                yield name, uid, any(_is_compilers(kind, name, entry) for entry in entries)


def _is_compilers(kind: Kind, relation: str, entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a shared list is a compiler's by its target's name, or by its attribute."""
    attribute_type = kind.attribute_type(relation)
    attribute = None
    if attribute_type is not None:
        # One that is stored with another type is no compiler's.
        with suppress(msgspec.ValidationError):
            attribute = msgspec.convert(without_nulls(entry.get("attr") or {}), attribute_type, dec_hook=decode_hook)
    to = tuple(entry.get("to") or ())
    return is_our_entry(kind.relations[relation], "", target=to, uuid=entry.get("uuid") or "", attribute=attribute)


def _has(roles: Collection[str], role: str) -> bool:
    return bool(role) and role.lower() in {name.lower() for name in roles}


def _granted(rules: Sequence[Rule], roles: Collection[str], operation: Operation) -> bool:
    return any(
        operation.value in letters and (role == ANY or role in roles) for rule in rules for role, letters in rule.grants
    )


def _bits(value: Any) -> int:
    return value & 7 if isinstance(value, int) else 0

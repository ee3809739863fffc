"""Enforces permissions: reads the rules that concern a caller, and raises ``Forbidden`` with the reason.

Why it exists: single calls, ``/sync``, ``/ref-update``, collections and lists must check the same, so each step of a
mutation checks here, on its draft. A caller without any right is rejected before its request is read.
``authorization`` makes the decisions.

The access lists that it read last are kept, since lists of thousands of rules take longer than a call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from intentc.model import Key, Kind, Name, Schema, kebab, snake

from .admission import NO_RULES, RULES
from .admission.rules import asked_for
from .admission.well_known import ACCESS_LIST, DEFAULT_DOMAIN, DOMAIN, PROJECT, mark_of
from .authorization import (
    ANY,
    READ,
    REFER,
    WRITE,
    Caller,
    Mode,
    Operation,
    Policy,
    Rule,
    Tenancy,
    access_to,
    applies,
    compiler_fields_changed,
    denied_by_rules,
    is_administrator,
    is_compiler,
    may_be_granted,
    may_call,
    owns,
    reads_everything,
    reads_secrets,
    rules_in,
    shared_entries_changed,
    tenant_id,
)
from .documents import Document, decode
from .draft import Draft
from .errors import Forbidden, Malformed
from .secrets import Sight

_WORDS = {READ: "read", WRITE: "write", REFER: "refer to"}
_VERBS = {Operation.CREATE: "create", Operation.READ: "read", Operation.UPDATE: "update", Operation.DELETE: "delete"}


class Permissions:
    """The permissions of callers under ``policy``."""

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self.policy = policy
        self._schema = schema
        self._lists: dict[str, _List] = {}

    def admit(self, caller: Caller, *, reading: bool) -> None:
        """Raise ``Forbidden`` for a caller that may read or write nothing, before its request is read."""
        if not may_call(self.policy, caller, reading=reading):
            known = "only " + " and ".join(self._roles(reading))
            raise Forbidden(
                f"the roles {_shown(caller.roles)} give no right to {'read' if reading else 'write'};"
                f" aaa_mode is {self.policy.mode.value}: {known} may"
            )

    def administrate(self, caller: Caller, *, reading: bool) -> None:
        """Raise ``Forbidden`` unless the caller is a cloud administrator or, for reading, may read everything."""
        if not (reads_everything if reading else is_administrator)(self.policy, caller):
            raise Forbidden(f"number pools need the role {' or '.join(self._roles(reading))}")

    async def access(self, draft: Draft, caller: Caller) -> Access:
        """The access of ``caller`` in ``draft``."""
        if caller not in draft.access:
            tenancy, rules = Tenancy(), tuple[_Rules, ...]()
            if self.policy.mode is Mode.RBAC and not is_administrator(self.policy, caller):
                tenancy = await _tenancy(draft, self._schema, caller)
                try:
                    rules = await self._rules(draft, tenancy)
                except Malformed as error:
                    # The list's restrictions are unknown, so only callers that may read everything continue.
                    if not reads_everything(self.policy, caller):
                        raise Forbidden(f"rights can't be decided: {error.message}") from None
            draft.access[caller] = Access(self.policy, caller, tenancy, rules)
        return draft.access[caller]

    async def _rules(self, draft: Draft, tenancy: Tenancy) -> tuple[_Rules, ...]:
        """The rules of all levels that concern a caller. Raises ``Malformed`` for a list that can't be read."""
        if ACCESS_LIST not in self._schema:
            return ()
        kind, known = self._schema.kind(ACCESS_LIST), self._lists
        found: dict[str, _List] = {}
        for item in await draft.reading.below(draft.layout.values(ACCESS_LIST)):
            former = known.get(item.key)
            if former is None or former.value != item.value:
                document = decode(kind, item.value, item.key, draft.layout.uuid(item.key))
                former = _List(item.value, document | {"api_access_list_entries": None}, _by_kind(document))
                await draft.pause(0)
            found[item.key] = former
        self._lists = found
        return tuple([one.rules for one in found.values() if applies(one.document, tenancy)])

    def _roles(self, reading: bool) -> list[str]:
        roles = [self.policy.cloud_admin_role]
        if reading and self.policy.global_read_only_role:
            roles.append(self.policy.global_read_only_role)
        return roles


_Rules = Mapping[str, Sequence[Rule]]
"""The rules of one access list by the name of their kind."""


class _List(NamedTuple):
    """An access list as it was read; ``document``: the list without its rules."""

    value: bytes
    document: Document
    rules: _Rules


def _by_kind(access_list: Document) -> _Rules:
    found: dict[str, list[Rule]] = {}
    for rule in rules_in(access_list.get("api_access_list_entries")):
        found.setdefault(rule.kind, []).append(rule)
    return found


class Access:
    """The permissions of one caller. Methods that return nothing raise ``Forbidden``."""

    def __init__(self, policy: Policy, caller: Caller, tenancy: Tenancy, rules: Sequence[_Rules]) -> None:
        self.all = is_administrator(policy, caller)
        self.reads_all = reads_everything(policy, caller)
        self.writes_outputs = is_compiler(policy, caller)
        """Whether the caller may write the compilers' fields."""
        self.reads_secrets = reads_secrets(policy, caller)
        self._caller = caller
        self._tenancy = tenancy
        self._rules = rules

    def rule(self, kind: Kind, operation: Operation, fields: Collection[str] = ()) -> None:
        """Require that the rules allow ``operation`` on the kind with these fields."""
        if self.all or (self.reads_all and operation is Operation.READ):
            return
        denied = denied_by_rules(self._about(kind), self._caller.roles, kind, operation, fields)
        if denied:
            raise Forbidden(
                f"no rule of an access list lets the roles {_shown(self._caller.roles)} {_VERBS[operation]} {denied}"
            )

    def rule_for_any(self, kind: Kind, operations: Sequence[Operation]) -> None:
        """Require that the rules allow one of ``operations`` on the kind, or on some field of it."""
        if not self.all and not may_be_granted(self._about(kind), self._caller.roles, kind, operations):
            verbs = " or ".join(_VERBS[operation] for operation in operations)
            raise Forbidden(
                f"no rule of an access list lets the roles {_shown(self._caller.roles)} {verbs} {kebab(kind.name)}"
            )

    def _about(self, kind: Kind) -> list[Rule]:
        """The rules about a kind, or about any."""
        names = dict.fromkeys((kind.name, kind.plural, ANY))
        return [rule for rules in self._rules for name in names for rule in rules.get(name, ())]

    def allows(self, document: Mapping[str, Any], needed: int) -> bool:
        """Whether the resource's ``perms2`` gives the bit ``needed``."""
        if self.all or (self.reads_all and needed == READ):
            return True
        return bool(access_to(document.get("perms2"), self._tenancy) & needed)

    def sight(self, *, stored: bool = False) -> Sight:
        """How the caller sees secrets. ``stored``: it asks for them as they are stored."""
        if not self.reads_secrets:
            return Sight.HIDDEN
        return Sight.STORED if stored else Sight.OPEN

    def on(self, key: Key, document: Mapping[str, Any], needed: int) -> None:
        """Require that the resource's ``perms2`` gives the bit ``needed``."""
        if not self.allows(document, needed):
            raise Forbidden(
                f"perms2 of {kebab(key.kind)} {key.uuid} does not let the project {self._caller.project_id or '(none)'}"
                f" {_WORDS[needed]} it; its owner can share it",
                key=key,
            )

    async def change(self, draft: Draft, key: Key, before: Document | None, after: Document) -> None:
        """Require the rights for compilers' fields and entries, ownership, and new references that a change affects.

        Both states have their references in stored form.
        """
        kind = draft.schema.kind(key.kind)
        if not self.writes_outputs:
            await self._outputs(draft, key, kind, before or {}, after)
        if not self.all:
            self._ownership(key, (before or {}).get("perms2") or {}, after.get("perms2") or {}, is_new=before is None)
            await self._references(draft, kind, before, after)
            await self._joined(draft, key, before, after)

    async def _outputs(self, draft: Draft, key: Key, kind: Kind, before: Document, after: Document) -> None:
        hint = f"(the API server's intentc.compiler_users names compilers' users; {self._caller.user_id} is none)"
        for field in compiler_fields_changed(kind, before, after):
            raise Forbidden(
                f"{kebab(kind.name)}.{field} is written by the compiler alone; leave it out {hint}", key=key
            )
        for relation, uuid, is_compilers in shared_entries_changed(kind, before, after):
            if is_compilers or mark_of(await draft.readable(Key(relation, uuid)) or {}) is not None:
                raise Forbidden(
                    f"the entry of {kebab(kind.name)}.{relation}_refs that leads to {uuid} is the compiler's alone;"
                    f" keep it as it is {hint}",
                    key=key,
                )

    async def _references(self, draft: Draft, kind: Kind, before: Document | None, after: Document) -> None:
        for relation in kind.relations:
            field = f"{relation}_refs"
            known = {entry.get("uuid") for entry in (before or {}).get(field) or ()}
            for uuid in {entry.get("uuid") for entry in after.get(field) or ()} - known:
                target = Key(relation, uuid)
                self.on(target, await draft.document(target) or {}, REFER)

    async def _joined(self, draft: Draft, key: Key, before: Document | None, after: Document) -> None:
        """Require the right to refer to what the resource newly acts on by a name. What is absent may be somebody
        else's tomorrow, unless it would be in the resource's own project."""
        rules = RULES.get(key.kind, NO_RULES)
        for name in sorted(set(rules.joined(after)) - set(rules.joined(before or {}))):
            names = asked_for(name)
            uuids = [await draft.find(one) for one in names]
            targets = [Key(one.kind, uuid) for one, uuid in zip(names, uuids, strict=True) if uuid is not None]
            documents = [await draft.document(target) or {} for target in targets]
            if any(self.allows(document, REFER) for document in documents):
                continue
            if targets:
                self.on(targets[-1], documents[-1], REFER)
            elif name.fq_name[: -len(names)] != tuple(after["fq_name"][:-1]):
                raise Forbidden(
                    f"there is no {kebab(name.kind)} {':'.join(name.fq_name)} yet, and it would be in another project; "
                    f"name it once it is there and shared with yours",
                    key=key,
                )

    async def parent(self, draft: Draft, document: Document) -> None:
        """Require that the caller may write the parent of a new resource."""
        if not self.all and document.get("parent_uuid"):
            parent = Key(snake(document["parent_type"]), document["parent_uuid"])
            self.on(parent, await draft.document(parent) or {}, WRITE)

    def _ownership(self, key: Key, before: Document, given: Document, *, is_new: bool) -> None:
        after = {**before, **given}
        if after == before:
            return
        owner = self._caller.project_id if is_new else str(before.get("owner") or "")
        if tenant_id(str(after.get("owner") or (owner if is_new else ""))) != tenant_id(owner):
            raise Forbidden("perms2.owner is set by a cloud administrator alone; leave it out", key=key)
        if not is_new and not owns(before, self._tenancy):
            raise Forbidden("perms2 is changed by the owner's project, or a cloud administrator; leave it out", key=key)


async def _tenancy(draft: Draft, schema: Schema, caller: Caller) -> Tenancy:
    """The ids of the caller's project and domain, and those of their resources.

    With static users Keystone's id may be a name.
    """
    domain = DEFAULT_DOMAIN if caller.domain_name == "default" else caller.domain_name
    projects, domains = [caller.project_id], [caller.domain_id]
    for kind, fq_name, ids in ((PROJECT, (domain, caller.project_name), projects), (DOMAIN, (domain,), domains)):
        if kind in schema and all(fq_name):
            ids.append(await draft.find(Name(kind, fq_name)) or "")
    return Tenancy(*(frozenset(tenant_id(one) for one in ids if one) for ids in (projects, domains)))


def _shown(roles: Collection[str]) -> str:
    return ", ".join(sorted(roles)) or "(none)"

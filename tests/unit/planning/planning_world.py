"""A store, a cache and claims for the planner alone: toy kinds with every sort of field; operations are carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from intentc.model import (
    MARK_KEY,
    AddReference,
    Change,
    Create,
    Delete,
    HeldInput,
    Key,
    Mark,
    Name,
    Operation,
    Parent,
    ReferenceClaim,
    RemoveReference,
    Resource,
    ResourceClaim,
    Schema,
    Update,
    kebab,
    object_uuid,
)
from intentc.model.kind import Kind
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable
from intentc.model.values import ENCODER, thaw
from intentc.planning import Assumed, ClaimBook, DeleteGuard, Plan, Planner

INSTALLATION = "test"

TYPES = TypeTable(
    {
        "Rule": {"port": "integer", "action": {"type": "string", "default": "pass"}},
        "Rules": {"rule": {"list": "Rule"}},
        "Direction": {"import_export": "string"},
        "Pair": {"key": "string", "value": "string"},
        "Pairs": {"pair": {"list": "Pair"}},
        "Weight": {"weight": "integer"},
        "Spare": {"rule": {"type": "Rule", "optional": True}},
    }
)


def _kind(**declared: Any) -> Kind:
    return build_kind(msgspec.convert({"group": "toy", **declared}, KindSpec), TYPES, "toy")


SCHEMA = Schema(
    [
        _kind(kind="group", properties={"color": "string"}),
        _kind(
            kind="ruleset",
            parents=[{"kind": "group", "derived": True}],
            properties={
                "rules": {"type": "Rules", "writer": "compiler"},
                "digest": {"type": "integer", "writer": "compiler"},
            },
        ),
        _kind(kind="target", properties={"display_name": {"type": "string", "writer_if_made": "compiler"}}),
        _kind(kind="leaf", parents=["target"], properties={}),
        _kind(
            kind="instance",
            parents=[{"kind": "group", "derived": True}],
            system=True,
            ours=":service-",
            properties={
                "note": {"type": "string", "writer": "compiler", "default": "none"},
                "names": {"list": "string", "writer": "compiler", "collection": "list"},
                "pairs": {"type": "Pairs", "writer": "compiler", "collection": "map", "map_key": "key"},
                "color": "string",
            },
            references={
                "target": {"attribute": "Direction", "writer": "compiler", "merge": "import_export"},
                "instance": {"attribute": "Weight", "writer": "compiler"},
                "summary": {"writer": "compiler"},
            },
        ),
        _kind(
            kind="summary",
            parents=[{"kind": "group", "derived": True}],
            system=True,
            ours=":summary$",
            only_claimed=".*",
            properties={"note": {"type": "string", "writer": "compiler"}, "color": "string"},
        ),
        _kind(
            kind="router",
            properties={
                "note": {"type": "string", "writer": "compiler"},
                "color": "string",
                "rule": {"type": "Rule", "compiler_parts": ["port"]},
                "spare": {"type": "Spare", "optional": True, "compiler_parts": ["rule.port"]},
            },
            references={
                "router": {"attribute": "Weight", "writer": "shared", "ours_with": {"weight": 1}},
                "target": {"writer": "shared"},
                "instance": {"attribute": "Direction", "writer": "shared", "ours": "(^|:)service-[^:]*$"},
                "group": {"writer": "shared", "derived": True, "ours": "^group"},
            },
        ),
        _kind(kind="card", shape="kubernetes", properties={"rule": {"type": "Rule", "compiler_parts": ["port"]}}),
        _kind(kind="watcher", properties={}, references={"target": None}),
    ]
)

COMPILER_OF_KIND = {kind.name: "toy" for kind in SCHEMA}


def struct(name: str, **fields: Any) -> Any:
    return TYPES.struct(name)(**fields)


def rules(*ports: int) -> Any:
    return struct("Rules", rule=tuple(struct("Rule", port=port) for port in ports))


def origin(name: str, kind: str = "group") -> Key:
    return Key(kind, f"uuid-{name}")


def parent(name: str) -> Parent:
    return Parent(origin(name), (name,))


def child(owner: str, name: str = "rules", **properties: Any) -> ResourceClaim:
    """A claim of a group on a rule set of its own."""
    fq_name = (owner, name)
    return ResourceClaim(Name("ruleset", fq_name), parent(owner), origin(owner).uuid, tuple(sorted(properties.items())))


def shared(kind: str, name: str, **properties: Any) -> ResourceClaim:
    return ResourceClaim(Name(kind, (name,)), None, "shared", tuple(sorted(properties.items())))


def owned(kind: str, name: str, owner: str, **properties: Any) -> ResourceClaim:
    return ResourceClaim(Name(kind, (name,)), None, origin(owner).uuid, tuple(sorted(properties.items())))


def refer(holder: Name, target: Name, attribute: Any = None) -> ReferenceClaim:
    return ReferenceClaim(holder, target.kind, target, attribute)


def our_uuid(name: Name, owner: str = "shared") -> str:
    return object_uuid(INSTALLATION, name, owner)


def sources(resources: Mapping[Key, Resource], key: Key, kind: str, relation: str) -> tuple[Key, ...]:
    return tuple(
        sorted(
            holder
            for holder, resource in resources.items()
            if holder.kind == kind
            and any(link.relation == relation and link.value == key.uuid for link in resource.links)
        )
    )


class PlanningWorld:
    """The store and the cache in one: ``put`` what users and the server make, ``carry_out`` what plans say."""

    def __init__(self, *, complete: bool = True) -> None:
        self.stored: dict[Key, Resource] = {}
        self.unreadable: set[Key] = set()
        self.written = 1
        self.held: set[Key] = set()
        self.now = 0.0
        self.book = ClaimBook()
        self.book.complete = complete
        self.guard = DeleteGuard()
        self.assumed = Assumed(SCHEMA, self, lambda: self.now)
        self.planner = Planner(
            SCHEMA, INSTALLATION, COMPILER_OF_KIND, self.book, self.assumed, self.held.__contains__, self.guard
        )

    @property
    def revision(self) -> int:
        """What the cache has applied: here everything."""
        return self.written

    @property
    def seen(self) -> dict[Key, Resource]:
        """What the cache shows: here the store itself."""
        return self.stored

    def resource(self, key: Key) -> Resource | None:
        if key in self.unreadable:
            raise HeldInput(key)
        return self.seen.get(key)

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None:
        return next((key for key, r in self.seen.items() if r.name == Name(kind, fq_name)), None)

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        return sources(self.seen, key, kind, relation)

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]:
        assert (index, value) == ("all", "")
        return tuple(sorted(key for key in {*self.seen, *self.unreadable} if key.kind == kind))

    def put(
        self,
        kind: str,
        *fq_name: str,
        uuid: str = "",
        mark: Mark | None = None,
        parent: Parent | None = None,
        references: Mapping[str, Iterable[tuple[Key, Any]]] | None = None,
        **properties: Any,
    ) -> Key:
        """Store an object as a user or the server would write it."""
        value: dict[str, Any] = {"fq_name": list(fq_name), **{f: thaw(v) for f, v in properties.items()}}
        if mark is not None:
            value["annotations"] = {"key_value_pair": [{"key": MARK_KEY, "value": str(mark)}]}
        if parent is not None:
            value |= {"parent_type": kebab(parent.key.kind), "parent_uuid": parent.key.uuid}
        for relation, entries in (references or {}).items():
            value[f"{relation}_refs"] = [self._entry(key, attribute) for key, attribute in entries]
        key = Key(kind, uuid or (f"uuid-{fq_name[-1]}"))
        return self._store(key, value)

    def make(self, claim: ResourceClaim, **more: Any) -> Key:
        """Store an object as we would have created it for ``claim``."""
        return self.put(
            claim.name.kind,
            *claim.name.fq_name,
            uuid=our_uuid(claim.name, claim.owner),
            mark=Mark(INSTALLATION, "toy", claim.owner),
            parent=claim.parent,
            **dict(claim.properties),
            **more,
        )

    def call_targets(self, holder: Key, relation: str, *fq_name: str) -> None:
        """Store other names in the entries of one relation, as somebody may who writes into the store directly."""
        value = msgspec.json.decode(self.stored[holder].raw)
        for entry in value[f"{relation}_refs"]:
            entry["to"] = list(fq_name)
        self._store(holder, value)

    def remove(self, key: Key) -> None:
        del self.stored[key]
        self.written += 1

    def plan(self, name: Name) -> Plan:
        plan = self.planner.plan(name)
        self.planner.note(plan)
        return plan

    def carry_out(self, plan: Plan) -> None:
        """Do what the plan says, as the server would; it rejects what it has to reject."""
        for operation in plan.operations:
            self._carry_out(operation)

    def _carry_out(self, operation: Operation) -> None:
        key = operation.key
        if isinstance(operation, Create):
            assert operation.name not in {r.name for r in self.stored.values()}, f"{operation.name} exists"
            assert operation.parent is None or operation.parent.key in self.stored
            self.put(
                operation.kind,
                *operation.fq_name,
                uuid=operation.uuid,
                mark=operation.mark,
                parent=operation.parent,
                references={r: [(e.key, e.attribute) for e in entries] for r, entries in operation.references.items()},
                **operation.properties,
            )
            return
        assert key in self.stored, f"{operation} of what is not there"
        if isinstance(operation, Delete):
            for kind, relation in SCHEMA.referring.get(key.kind, ()):
                if relation == "parent":
                    derived = any(p.derived for p in kind.parents if p.kind == key.kind)
                else:
                    derived = kind.relations[relation].derived
                holders = [h for h in sources(self.stored, key, kind.name, relation) if h != key]
                assert derived or not holders, f"{key} is still referred to"
            self.remove(key)
            return
        value = msgspec.json.decode(self.stored[key].raw)
        if isinstance(operation, Update):
            for field, new in operation.properties.items():
                value[field] = thaw(new)
            for relation, entries in operation.references.items():
                value[f"{relation}_refs"] = [self._entry(e.key, e.attribute) for e in entries]
        else:
            assert isinstance(operation, AddReference | RemoveReference)
            field = f"{operation.relation}_refs"
            target = operation.target if isinstance(operation, RemoveReference) else operation.target.key
            value[field] = [entry for entry in value.get(field, []) if entry["uuid"] != target.uuid]
            if isinstance(operation, AddReference):
                value[field].append(self._entry(target, operation.target.attribute))
        self._store(key, value)

    def _entry(self, key: Key, attribute: Any) -> dict[str, Any]:
        assert key in self.stored, f"{key} is not there"
        return {"uuid": key.uuid, "to": list(self.stored[key].fq_name)} | (
            {"attr": thaw(attribute)} if attribute else {}
        )

    def _store(self, key: Key, value: dict[str, Any]) -> Key:
        self.written += 1
        created = self.stored[key].create_revision if key in self.stored else self.written
        change = Change(key.kind, key.uuid, ENCODER.encode(value), created, self.written)
        self.stored[key] = SCHEMA.kind(key.kind).decode(change)
        return key

"""Carries out one ``/sync``: creates, updates, statuses and deletes in one transaction (docs/contrail.md B.2).

Why it exists: one large transaction is cheaper than many small ones, and resources that refer to each other must be
written together. All reads of the batch are gathered first. Items may come in any order: they are sorted so that
parents and reference targets are created before their dependents, and deleted after them. All are tried, so that an
error can list the rejected ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, NamedTuple

from intentc.model import Key, Kind, Name, Schema, kebab, snake
from intentc.model.manifest import is_manifest, manifest_uuid

from . import rule_execution, statuses
from .admission.fields import flat_body
from .authorization import Caller
from .documents import Document, decode_text, relationships
from .draft import Draft
from .errors import ApiError, BadRequest, TooLarge
from .resources import Condition, Mirror, Resources
from .statuses import StatusUpdate

CREATE, UPDATE, UPDATE_STATUS, DELETE = "CREATE", "UPDATE", "UPDATE_STATUS", "DELETE"
_MOST_REJECTIONS = 100
"""Rejected items that an error lists."""
MOST_OF_ONE = 16
"""Items of one request that name the same resource: each costs as much as the whole resource."""
_ITEM_FIELDS = frozenset({"kind", "operation", "data", "if_match", "if_none_match", "relaxed", "field_mask", "mirror"})


class Item(NamedTuple):
    """One element of ``resources``.

    ``place``: its index in the request; ``body``: the fields as the client sent them; ``data``: the same in stored
    form; ``relaxed``: uuids of targets whose deletion its references must not block; ``paths``: the field mask of an
    UPDATE, None for all fields of ``body``; ``mirror``: a bridge writes what a cluster has; ``status``: of an
    UPDATE_STATUS.
    """

    place: int
    kind: Kind
    operation: str
    data: Document
    body: Document
    condition: Condition
    relaxed: tuple[str, ...] = ()
    paths: tuple[str, ...] | None = None
    mirror: Mirror | None = None
    status: StatusUpdate | None = None

    @property
    def uuid(self) -> str:
        return str(self.data.get("uuid") or "")

    @property
    def name(self) -> Name:
        return Name(self.kind.name, tuple(map(str, self.data.get("fq_name") or ())))

    def __str__(self) -> str:
        return f"item {self.place} ({self.kind.name} {':'.join(self.name.fq_name) or self.uuid})"


class Applied(NamedTuple):
    """The result of one item: the operation that was done, and the resource as written (a deletion: its uuid)."""

    kind: str
    operation: str
    data: Document


def is_readable(body: Any) -> bool:
    """Whether the uuid and fq_name of a body have the right types; if not, later checks report it."""
    return (
        isinstance(body, dict)
        and isinstance(body.get("uuid") or "", str)
        and isinstance(body.get("fq_name") or [], list)
    )


def parse(schema: Schema, elements: Any) -> list[Item]:
    """Parse the items of a request. Raises ``BadRequest`` for the first bad one, with all in ``rejected``."""
    if not isinstance(elements, list):
        raise BadRequest('resources must be a list of {"kind", "operation", "data"}')
    items, bad = [], []
    for place, element in enumerate(elements):
        try:
            items.append(_item(schema, place, element))
        except BadRequest as error:
            kind = element.get("kind") if isinstance(element, dict) else None
            bad.append(error.within(place, f"item {place}" + (f" ({kind})" if kind else "")))
    if bad:
        raise _first_of(bad)
    return items


def _item(schema: Schema, place: int, element: Any) -> Item:
    if not isinstance(element, dict) or not isinstance(element.get("data", {}), dict):
        raise BadRequest('it must be an object {"kind", "operation", "data"} with an object as data')
    unknown = set(element) - _ITEM_FIELDS
    if unknown:
        raise BadRequest(f"unknown fields {', '.join(sorted(unknown))}")
    kind = schema.kinds.get(snake(str(element.get("kind", ""))))
    if kind is None or not kind.stored:
        raise BadRequest(f"unknown kind {element.get('kind')!r}")
    operation = element.get("operation") or CREATE
    if operation not in (CREATE, UPDATE, UPDATE_STATUS, DELETE):
        raise BadRequest(f"operation {operation!r} is none of CREATE, UPDATE, UPDATE_STATUS, DELETE")
    body = element.get("data") or {}
    data = flat_body(kind, body).fields
    if not is_readable(data):
        raise BadRequest("uuid must be a text and fq_name a list of texts")
    if operation != CREATE and kind.written_as_manifests and data.get("fq_name"):
        data = {"uuid": manifest_uuid(kind.name, tuple(map(str, data["fq_name"]))), **data}
    if operation != CREATE and not data.get("uuid"):
        raise BadRequest(f"{operation} needs data.uuid")
    revision = element.get("if_match")
    if revision is not None and (not isinstance(revision, int) or isinstance(revision, bool)):
        raise BadRequest("if_match must be a revision (an integer)")
    relaxed = relaxed_targets(element)
    if relaxed and operation == DELETE:
        raise BadRequest("a DELETE has no references to relax; leave relaxed out")
    condition = Condition(revision, bool(element.get("if_none_match")))
    paths, mirror = _mask(element, operation), _mirror(element)
    if operation == UPDATE_STATUS:
        status = statuses.parse(kind, body, paths)
        return Item(place, kind, operation, data, body, condition, relaxed, mirror=mirror, status=status)
    return Item(place, kind, operation, data, body, condition, relaxed, paths, mirror)


def _mirror(element: Mapping[str, Any]) -> Mirror | None:
    mirror = element.get("mirror") or None
    if mirror is None or mirror is True:
        return Mirror() if mirror else None
    ours = mirror.get("our_finalizers") if isinstance(mirror, dict) else None
    if not isinstance(ours, list) or not all(isinstance(name, str) for name in ours):
        raise BadRequest('mirror must be true or {"our_finalizers": [a list of names]}')
    return Mirror(frozenset(ours))


def _mask(element: Mapping[str, Any], operation: str) -> tuple[str, ...] | None:
    mask = element.get("field_mask")
    if mask is None:
        return None
    paths = mask.get("paths") if isinstance(mask, dict) else None
    if not isinstance(paths, list) or not all(isinstance(path, str) and path for path in paths):
        raise BadRequest('field_mask must be {"paths": [a list of fields]}')
    if operation not in (UPDATE, UPDATE_STATUS):
        raise BadRequest(f"a {operation} has no field_mask; leave it out")
    return tuple(paths)


def relaxed_targets(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Read ``"relaxed": ["<uuid of a target>", …]`` next to a resource. Raises ``BadRequest``."""
    relaxed = body.get("relaxed") or []
    if not (isinstance(relaxed, list) and all(isinstance(uuid, str) for uuid in relaxed)):
        raise BadRequest("relaxed must be a list of the uuids of targets")
    return tuple(relaxed)


async def apply(draft: Draft, resources: Resources, items: Sequence[Item], caller: Caller) -> list[Applied]:
    """Stage all items; returns what was done, in order.

    Errors name index, kind and fq_name. The first one is raised after all items were tried, and carries the others.
    """
    await gather_reads(draft, items)
    items = [await _placed(draft, item) for item in items]
    _check_repetitions(items)
    rejections = _Rejections()
    deletes = [item for item in items if item.operation == DELETE]
    creates: list[Item] = []
    updates: list[Item] = []
    for item in items:
        if item.operation == CREATE:
            is_there = item.uuid and await draft.reading.item(draft.layout.value(Key(item.kind.name, item.uuid)))
            (updates if is_there and not item.condition.must_be_new else creates).append(item)
        elif item.operation == UPDATE:
            updates.append(item)
    applied: list[Applied] = []
    written: dict[Key, Item] = {}
    for item in reversed(await _sorted_deletes(draft, deletes)):
        with rejections.of(item):
            await resources.delete(draft, Key(item.kind.name, item.uuid), caller, item.condition)
        applied.append(Applied(item.kind.name, DELETE, {"uuid": item.uuid}))
    for item in _sorted(creates, [list(_wanted(item)) for item in creates]):
        with rejections.of(item):
            document = await resources.create(draft, item.kind, item.body, caller, item.condition, item.mirror)
            key = Key(item.kind.name, document["uuid"])
            await resources.relax(draft, key, item.relaxed)
            written[key] = item
            applied.append(Applied(item.kind.name, CREATE, document))
    for item in updates:
        key = Key(item.kind.name, item.uuid)
        with rejections.of(item):
            document = await resources.update(draft, key, item.body, caller, item.condition, item.paths, item.mirror)
            await resources.relax(draft, key, item.relaxed)
            written[key] = item
            applied.append(Applied(item.kind.name, UPDATE, document))
    for item in items:
        if item.status is not None:
            key = Key(item.kind.name, item.uuid)
            with rejections.of(item):
                document = await statuses.write(draft, resources, key, item.status, caller, item.condition)
                applied.append(Applied(item.kind.name, UPDATE_STATUS, document))
    rejections.raise_first()
    try:
        await rule_execution.verify(draft)
    except ApiError as error:
        item_of_error = written.get(Key(*error.key)) if error.key is not None else None
        if item_of_error is None:
            raise
        raise error.within(item_of_error.place, str(item_of_error)) from None
    return applied


def _check_repetitions(items: Sequence[Item]) -> None:
    counts: Counter[Key] = Counter()
    for item in items:
        key = Key(item.kind.name, item.uuid)
        counts[key] += bool(item.uuid)
        if counts[key] > MOST_OF_ONE:
            raise TooLarge(
                f"{item}: a request may have at most {MOST_OF_ONE} items of one resource; send what it is to be at last"
            )


async def _placed(draft: Draft, item: Item) -> Item:
    """``item`` with the uuid of its resource, if it is a manifest without one: those of clients have random uuids."""
    if item.operation == CREATE or not is_manifest(item.body) or (item.body.get("metadata") or {}).get("uid"):
        return item
    found = await draft.find(item.name)
    return item if found in (None, item.uuid) else item._replace(data={**item.data, "uuid": found})


def blame(items: Sequence[Item], error: ApiError) -> ApiError:
    """Attribute an error of the whole draft to the item that it concerns, if that is known."""
    for item in items:
        if error.key in (Key(item.kind.name, item.uuid), item.name):
            return error.within(item.place, str(item))
    return error


class _Rejections:
    """Collects the rejected items of one request.

    Errors of items that refer to a rejected item are not collected: they would only say that the other is missing.
    """

    def __init__(self) -> None:
        self._found: list[ApiError] = []
        self._named: set[Key | Name] = set()

    @contextmanager
    def of(self, item: Item) -> Iterator[None]:
        """Note a rejection of ``item`` in the block. Raises errors that are not the client's fault."""
        try:
            yield
        except ApiError as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise error.within(item.place, str(item)) from None
            if self._named.isdisjoint(_wanted(item)):
                self._found.append(error.within(item.place, str(item)))
            self._named |= {Key(item.kind.name, item.uuid), item.name}

    def raise_first(self) -> None:
        """Raise the first rejection, with all of them in ``rejected``."""
        if self._found:
            raise _first_of(self._found)


def _first_of(errors: Sequence[ApiError]) -> ApiError:
    errors[0].rejected = tuple((error.item or 0, error.detail) for error in errors[:_MOST_REJECTIONS])
    return errors[0]


def _wanted(item: Item) -> Iterator[Key | Name]:
    """The parents and targets that an item's data name."""
    data, fq_name = item.data, item.name.fq_name
    given, parent_uuid = data.get("parent_type"), data.get("parent_uuid")
    parents = [parent.kind for parent in item.kind.parents if not given or kebab(parent.kind) == kebab(str(given))]
    for parent in parents:
        if parent_uuid:
            yield Key(parent, str(parent_uuid))
        elif len(fq_name) > 1:
            yield Name(parent, fq_name[:-1])
    for relation in item.kind.relations:
        entries = data.get(f"{relation}_refs")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("uuid"):
                yield Key(relation, str(entry["uuid"]))
            elif isinstance(entry, dict) and isinstance(entry.get("to"), list):
                yield Name(relation, tuple(map(str, entry["to"])))


def _sorted(items: Sequence[Item], wanted: Sequence[Sequence[Key | Name]]) -> list[Item]:
    """Sort items behind those that they refer to, otherwise in their order. ``wanted``: for each item, what it
    refers to. Raises ``BadRequest`` showing a cycle."""
    places: dict[Key | Name, int] = {}
    for place, item in enumerate(items):
        places.setdefault(Key(item.kind.name, item.uuid), place)
        places.setdefault(item.name, place)
    result: list[Item] = []
    state = [0] * len(items)
    for start in range(len(items)):
        # Depth first without recursion: a chain of a thousand items must not exhaust the stack.
        stack = [(start, iter(wanted[start]))] if state[start] == 0 else []
        state[start] = state[start] or 1
        while stack:
            place, others = stack[-1]
            for other in others:
                target = places.get(other)
                if target is None or target == place or state[target] == 2:
                    continue
                if state[target] == 1:
                    path = [at for at, _ in stack]
                    cycle = [*path[path.index(target) :], target]
                    raise BadRequest(
                        f"the items depend on each other in a cycle: {' → '.join(str(items[at]) for at in cycle)}; "
                        f"create them without these references and add those afterwards"
                    )
                state[target] = 1
                stack.append((target, iter(wanted[target])))
                break
            else:
                state[place] = 2
                result.append(items[place])
                stack.pop()
    return result


async def _sorted_deletes(draft: Draft, items: Sequence[Item]) -> list[Item]:
    wanted: list[list[Key | Name]] = []
    for item in items:
        document = await draft.readable(Key(item.kind.name, item.uuid)) or {}
        wanted.append([relationship.target for relationship, _ in relationships(item.kind, document)])
    try:
        return _sorted(items, wanted)
    except BadRequest:
        # Existing resources that refer to each other in a cycle can be deleted together.
        return list(items)


async def gather_reads(draft: Draft, items: Sequence[Item]) -> None:
    """Read in few transactions what the items will read one by one."""
    layout = draft.layout
    keys: set[str] = set()
    names: set[Name] = set()
    for item in items:
        if item.uuid:
            keys.add(layout.value(Key(item.kind.name, item.uuid)))
        if item.operation == CREATE:
            if item.uuid:
                keys.add(layout.identity(item.uuid))
            if item.name.fq_name:
                names.add(item.name)
        if item.operation != DELETE:
            for wanted in _wanted(item):
                if isinstance(wanted, Key):
                    keys.add(layout.value(wanted))
                else:
                    names.add(wanted)
    await draft.reading.load(sorted(keys) + [layout.name(name) for name in sorted(names)])
    found = [(name, await draft.reading.item(layout.name(name))) for name in sorted(names)]
    await draft.reading.load(
        [layout.value(Key(name.kind, decode_text(item.value, item.key))) for name, item in found if item is not None]
    )

"""Every structured field of every kind: a wrong type is a 400 that names the field, and no value makes a call fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any, NamedTuple

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st

from intentc.apiserver.admission.fields import accept
from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.collections import ElementUpdate
from intentc.apiserver.errors import ApiError, BadRequest
from intentc.apiserver.references import ReferenceUpdate
from intentc.apiserver.startup import write_seeds
from intentc.model import Key, Kind
from intentc.watch.memory import MemoryStore
from tests.property.profiles import share
from tests.unit.apiserver.contrail_kinds import (
    JUNK,
    SCHEMA,
    SERVED,
    TEXTS,
    element_of,
    fields_of,
    new,
    one_of_each,
    values,
    wrong_values,
)


@pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.name)
def test_a_wrong_type_at_any_depth_is_rejected(kind: Kind) -> None:
    for field, spec in fields_of(kind).items():
        for wrong in wrong_values(kind, spec):
            body = {field: [{"to": ["x"], "attr": wrong}] if field.endswith("_refs") else wrong}
            with pytest.raises(BadRequest, match=field):
                accept(SCHEMA, kind, body)


def test_every_kind_has_structures_to_spoil() -> None:
    """The walk above finds the deep ones."""
    policy = SCHEMA.kind("network_policy")
    spoilt = list(wrong_values(policy, fields_of(policy)["network_policy_entries"]))
    assert {"policy_rule": [{"src_addresses": [{"subnet_list": [{"ip_prefix_len": "x"}]}]}]} in spoilt


class Attempt(NamedTuple):
    """A call with values in fields of a resource of ``kind``; an operation of collections is the call of one."""

    call: str
    kind: Kind
    fields: dict[str, Any]
    position: str


class World:
    """A server with one resource of each kind."""

    def __init__(self, store: MemoryStore) -> None:
        self.server = ApiServer(store, SCHEMA)
        self.made: dict[str, str] = {}
        self.count = 0

    async def attempt(self, attempt: Attempt) -> None:
        """Make one call. Raises ``ApiError``."""
        call, kind, fields, position = attempt
        key = Key(kind.name, self.made[kind.name])
        body = {field: self._content(field, value) for field, value in fields.items()}
        self.count += 1
        if call == "create":
            whole = new(kind, self.made, f"new-{self.count}") | body
            made = await self.server.create(kind.name, whole)
            await self.server.delete(Key(kind.name, made.document["uuid"]))
        elif call == "update":
            await self.server.update(key, body)
        elif call == "mask":
            paths = [f"{field}.{position}" if position else field for field in body]
            await self.server.update(key, body, paths=paths)
        elif call == "sync":
            item = {"kind": kind.name, "operation": "UPDATE", "data": {"uuid": key.uuid, **body}}
            await self.server.sync([item])
        elif call == "reference":
            for (field, value), add in product(fields.items(), (True, False)):
                relation = field.removesuffix("_refs")
                target = self.made.get(relation, "")
                await self.server.update_reference(ReferenceUpdate(key, relation, add, target, (position,), value))
        else:
            await self.server.collections(key.uuid, list(fields), position)
            updates = [ElementUpdate(field, call, value, position) for field, value in fields.items()]
            await self.server.update_collections(key.uuid, updates)

    def _content(self, field: str, value: Any) -> Any:
        """``value``, or a reference to the one of its kind with it as attribute."""
        uuid = self.made.get(field.removesuffix("_refs"), "") if field.endswith("_refs") else ""
        return [{"uuid": uuid} | ({"attr": value} if isinstance(value, dict) else {})] if uuid else value


@asynccontextmanager
async def _world() -> AsyncIterator[World]:
    store = MemoryStore()
    world = World(store)
    await write_seeds(world.server)
    world.made = await one_of_each(world.server)
    yield world
    await store.close()


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[BlockingPortal, World]]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_world()) as made:
        yield portal, made


COLLECTIONS = [(kind, name) for kind in SERVED for name, one in kind.properties.items() if one.collection]
ATTRIBUTES = [(kind, f"{name}_refs") for kind in SERVED for name, one in kind.relations.items() if one.attribute]


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    call = draw(st.sampled_from(["create", "create", "update", "mask", "sync", "reference", "collection"]))
    position = draw(st.one_of(st.sampled_from(["0", "1", "x"]), TEXTS))
    if call == "collection":
        kind, field = draw(st.sampled_from(COLLECTIONS))
        call = draw(st.sampled_from(["add", "modify", "delete", "set", "nonsense"]))
        return Attempt(call, kind, {field: draw(st.one_of(values(kind, element_of(kind, field)), JUNK))}, position)
    if call == "reference":
        kind, field = draw(st.sampled_from(ATTRIBUTES))
        return Attempt(call, kind, {field: draw(values(kind, fields_of(kind)[field]))}, position)
    kind = draw(st.sampled_from(SERVED))
    structures = fields_of(kind)
    names = sorted(structures.keys() | {f"{relation}_refs" for relation in kind.relations})
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)) if names else []
    fields = {name: draw(values(kind, structures[name]) if name in structures else JUNK) for name in chosen}
    return Attempt(call, kind, fields, position)


@share(5)
@given(attempts())
def test_no_value_makes_a_call_fail(world: tuple[BlockingPortal, World], attempt: Attempt) -> None:
    portal, made = world
    try:
        portal.call(made.attempt, attempt)
    except ApiError as error:
        assert 400 <= error.status < 500, error
        assert error.message
    # Whatever was accepted can be read.
    portal.call(made.server.get, Key(attempt.kind.name, made.made[attempt.kind.name]))

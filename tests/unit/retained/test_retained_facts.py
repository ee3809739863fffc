"""Facts of intents that fail or wait are kept in etcd, and are restored unchanged or not at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from pytest_mock import MockerFixture

from intentc.engine.engine import Engine
from intentc.model import Fact, HeldFacts, Key, Schema, Source
from intentc.model.values import FrozenMap, Opaque
from intentc.reconcile.failures import Denied, Failure
from intentc.retained import ALL, Keeper, RetainedFacts, retained_facts_prefix
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put, prefix_end
from tests.support.toy_kinds import build

pytestmark = pytest.mark.anyio

SCHEMA = Schema([build({"kind": "box", "properties": {"text": "string"}}), build({"kind": "share", "stored": False})])
BOX = Key("box", "uid-a")
PREFIX = retained_facts_prefix("one")


LEADER = cast(Engine, SimpleNamespace(may_write=True, first_pass_complete=True))
"""An engine whose first pass is complete, in a process that leads."""


class Part(msgspec.Struct, frozen=True):
    name: str
    weight: float = 0.0


class Whole(msgspec.Struct, frozen=True):
    parts: tuple[Part, ...]
    labels: FrozenMap
    more: Any = None


VALUE = Whole((Part("a", 1.0), Part("b", 2.5)), FrozenMap({"team": "red", "type": ("x",)}), Opaque({"b": [1, None]}))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def facts(store: MemoryStore) -> RetainedFacts:
    return RetainedFacts(store, SCHEMA, installation="one")


def held(*values: Any, key: Key = BOX) -> HeldFacts:
    return HeldFacts(key, 7, tuple(Fact("share", "all", value) for value in values))


async def stored(store: MemoryStore) -> list[Any]:
    items = (await store.range(PREFIX, prefix_end(PREFIX))).items
    return [msgspec.json.decode(item.value) for item in items]


async def replace(store: MemoryStore, old: str, new: str) -> None:
    (item,) = (await store.range(PREFIX, prefix_end(PREFIX))).items
    assert old.encode() in item.value
    await store.transaction([], [Put(item.key, item.value.replace(old.encode(), new.encode(errors="surrogateescape")))])


@pytest.mark.parametrize(
    "value", [VALUE, (VALUE, None), Source("box", "a"), "", 3, 3.0, True, (), FrozenMap({"a": 1}), Opaque()]
)
async def test_facts_come_back_equal_and_of_the_same_types(facts: RetainedFacts, value: Any) -> None:
    await facts.put(held(value, value))
    (found,) = (await facts.load()).values()
    assert found == held(value, value)
    assert type(found.facts[0].value) is type(value)


async def test_the_facts_of_a_fact_are_kept_whatever_it_is_called(facts: RetainedFacts) -> None:
    key = Key("share", "a/b|% \x00" + "long" * 1000)
    await facts.put(held("x", key=key))
    assert list(await facts.load()) == [key]
    await facts.remove(key)
    assert await facts.load() == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"weight":1.0', '"height":1.0'),
        (":Part", ":Gone"),
        (f"{__name__}:", "os:"),
        ('"type":"', '"sort":"'),
        ('"share"', '"other"'),
        ('"share"', '"box"'),
        ('{"kind"', '{"kin'),
        ('"name":"a"', '"name":' + "[" * 100_000 + "]" * 100_000),
        ('"name":"a"', '"name":"\udcff"'),
    ],
)
async def test_what_an_other_version_wrote_in_another_form_is_ignored_with_a_warning(
    store: MemoryStore, facts: RetainedFacts, old: str, new: str, caplog: pytest.LogCaptureFixture
) -> None:
    await facts.put(held(VALUE))
    await replace(store, old, new)
    assert await facts.load() == {}
    assert "are ignored" in caplog.text


@pytest.mark.parametrize("value", [{1}, frozenset({1}), object(), float("nan"), b"bytes"])
async def test_what_has_no_form_in_json_is_not_retained(store: MemoryStore, facts: RetainedFacts, value: Any) -> None:
    with pytest.raises(Failure):
        await facts.put(held(value))
    assert await stored(store) == []


async def test_facts_that_we_may_not_read_are_done_without(
    store: MemoryStore, facts: RetainedFacts, mocker: MockerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    mocker.patch.object(store, "range", side_effect=Denied("permission denied"))
    assert await facts.load() == {}
    assert f"grant the compiler's role {PREFIX}" in caplog.text


async def tend(keeper: Keeper[HeldFacts]) -> None:
    keeper.loop.add(ALL)
    while await keeper.loop.step():
        pass


async def test_the_leader_stores_facts_once_and_removes_those_of_recovered_intents(
    store: MemoryStore, facts: RetainedFacts
) -> None:
    wanted = {BOX: held(VALUE)}
    keeper = Keeper(facts, lambda: wanted, LEADER, "facts")
    await tend(keeper)
    assert await facts.load() == wanted
    written = (await store.range("/")).revision
    wanted[BOX] = held(VALUE)
    await tend(keeper)
    await tend(Keeper(facts, lambda: wanted, LEADER, "facts"))
    assert (await store.range("/")).revision == written
    wanted[BOX] = held("another")
    await tend(keeper)
    assert await facts.load() == wanted
    wanted.clear()
    await tend(keeper)
    assert await facts.load() == {}

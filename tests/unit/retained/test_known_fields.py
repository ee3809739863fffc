"""The fields that schemas have declared are remembered; a resource with one that the present schema lacks is held."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pytest_mock import MockerFixture

from intentc.model import Change, InvalidInput, Mark, Schema
from intentc.model.ownership import MARK_KEY
from intentc.reconcile.failures import Denied
from intentc.retained import KnownFields, known_fields_prefix
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put, TransactionResult
from tests.support.toy_kinds import build

pytestmark = pytest.mark.anyio

RECORD = f"{known_fields_prefix('one')}farm"


def schema(**properties: Any) -> Schema:
    return Schema([build({"kind": "farm", "properties": properties})])


def fields_of(store: MemoryStore, kinds: Schema) -> KnownFields:
    return KnownFields(store, kinds, installation="one")


def stored(**fields: Any) -> Change:
    return Change("farm", "u", msgspec.json.encode({"uuid": "u", "fq_name": ["a"], **fields}), 1, 1)


async def recorded(store: MemoryStore) -> list[str]:
    found: list[str] = msgspec.json.decode((await store.range(RECORD)).items[0].value)
    return found


@pytest.fixture
async def store() -> MemoryStore:
    """A store for which a schema with ``size`` and ``acres`` has been in use; compilers write ``acres``."""
    store = MemoryStore()
    acres = {"type": "integer", "writer": "compiler"}
    await fields_of(store, schema(size="integer", acres=acres)).record()
    return store


async def test_fields_are_added_and_never_removed(store: MemoryStore) -> None:
    assert await recorded(store) == ["size"]
    await fields_of(store, schema(area="integer")).record()
    assert await recorded(store) == ["area", "size"]


async def test_fields_that_another_process_adds_at_the_same_time_are_kept(
    store: MemoryStore, mocker: MockerFixture
) -> None:
    commit = store.transaction

    async def late(*arguments: Any) -> TransactionResult:
        mocker.stop(patched)
        await fields_of(store, schema(others="integer")).record()
        return await commit(*arguments)

    patched = mocker.patch.object(store, "transaction", late)
    await fields_of(store, schema(area="integer")).record()
    assert await recorded(store) == ["area", "others", "size"]


async def test_a_resource_with_a_lost_field_can_not_be_read(store: MemoryStore) -> None:
    kinds = schema(area="integer")
    await fields_of(store, kinds).load()
    with pytest.raises(InvalidInput, match="size: an earlier schema of farm declared this") as raised:
        kinds.kind("farm").decode(stored(size=3))
    assert raised.value.reason == "UnknownField"
    kinds.kind("farm").decode(stored(area=3, never_declared=4, acres=5))


async def test_an_object_that_a_compiler_made_may_have_lost_fields(store: MemoryStore) -> None:
    kinds = schema(area="integer")
    await fields_of(store, kinds).load()
    mark = {"key": MARK_KEY, "value": str(Mark("one", "farms", "u"))}
    kinds.kind("farm").decode(stored(size=3, annotations={"key_value_pair": [mark]}))


async def test_a_record_that_can_not_be_read_counts_as_none(store: MemoryStore) -> None:
    await store.transaction([], [Put(RECORD, b"garbage")])
    kinds = schema(area="integer")
    await fields_of(store, kinds).load_and_record()
    assert kinds.kind("farm").lost is None
    assert await recorded(store) == ["area"]


async def test_a_standby_of_an_older_schema_does_not_take_over(store: MemoryStore) -> None:
    older = fields_of(store, schema(size="integer"))
    await older.load()
    await older.check()
    await fields_of(store, schema(size="integer", area="integer")).record()
    with pytest.raises(InvalidInput, match="a later leader's schema of farm declares area"):
        await older.check()
    again = fields_of(store, schema(size="integer"))
    await again.load()
    await again.check()


async def test_without_the_permission_everything_else_goes_on(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def denied(*args: Any, **given: Any) -> None:
        raise Denied("not permitted")

    monkeypatch.setattr(store, "range", denied)
    await fields_of(store, schema(area="integer")).load_and_record()
    await fields_of(store, schema(area="integer")).check()
    assert f"grant the compiler's role {known_fields_prefix('one')}" in caplog.text

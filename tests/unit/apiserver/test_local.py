"""The writing stage's interfaces in process: the same operations, the same rejections (docs/engine.md §6)."""

from __future__ import annotations

import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.local import LocalWriteService
from intentc.apiserver.sources import DerivedSource
from intentc.apiserver.startup import write_seeds
from intentc.model import (
    AddReference,
    Create,
    Delete,
    Key,
    Mark,
    Name,
    ReferenceValue,
    RemoveReference,
    Schema,
    Update,
    object_uuid,
)
from intentc.reconcile.failures import Conflict, Fenced, Rejected
from intentc.watch.memory import MemoryStore
from intentc.writing.interfaces import Allocation, ReadService, WriteService

from .conftest import PROJECT, Api

pytestmark = pytest.mark.anyio

MARK = Mark("default", "contrail", "shared")


def services(api: Api) -> tuple[WriteService, ReadService]:
    """Both protocols are kept, as the type checker sees."""
    service = LocalWriteService(api.server, pools=["route_target_number"])
    return service, service


def _create(name: str) -> Create:
    uuid = object_uuid("default", Name("route_target", (name,)), "shared")
    return Create(Key("route_target", uuid), Name("route_target", (name,)), None, MARK, {}, {})


async def test_an_object_is_created_with_its_mark_read_back_and_deleted(api: Api) -> None:
    service = LocalWriteService(api.server)
    create = _create("target:1:1")
    written = await service.create(create)
    assert await service.identify(create.name) == create.key
    read = await service.read(create.key)
    assert read is not None and read.revision == written.revision
    stored = msgspec.json.decode(read.value)
    assert stored["annotations"] == {"key_value_pair": [{"key": "intentc", "value": str(MARK)}]}
    with pytest.raises(Conflict):
        await service.create(create)
    await service.delete(Delete(create.key, create.name, written.revision))
    assert await service.read(create.key) is None
    assert await service.identify(create.name) is None


async def test_whole_fields_and_single_references_are_written(api: Api, schema: Schema) -> None:
    service = LocalWriteService(api.server)
    create = _create("target:1:1")
    await service.create(create)
    await api.create("virtual_network", "n")
    instance = await api.by_name("routing_instance", *PROJECT, "n", "n")
    key, name = Key("routing_instance", instance["uuid"]), Name("routing_instance", tuple(instance["fq_name"]))
    attribute_type = schema.kind("routing_instance").attribute_type("route_target")
    assert attribute_type is not None
    target = ReferenceValue(create.key, create.fq_name, attribute_type())
    written = await service.update(Update(key, name, {}, {"route_target": (target,)}, None, (create.key,)))
    assert written.revision
    stored = await api.get("routing_instance", key.uuid)
    assert stored["route_target_refs"] == [{"uuid": create.uuid, "to": ["target:1:1"]}]
    await service.remove_ref(RemoveReference(key, name, "route_target", create.key))
    await service.add_ref(AddReference(key, name, "route_target", target, relaxed=True))
    await service.delete(Delete(create.key, create.name, None))
    assert "route_target_refs" not in await api.get("routing_instance", key.uuid)


async def test_a_failed_condition_and_a_missing_object_are_conflicts(api: Api) -> None:
    service = LocalWriteService(api.server)
    create = _create("target:1:1")
    written = await service.create(create)
    assert written.revision
    with pytest.raises(Conflict):
        await service.delete(Delete(create.key, create.name, written.revision - 1))
    with pytest.raises(Conflict):
        await service.delete(Delete(Key("route_target", "gone"), create.name, None))


async def test_a_rejected_value_is_rejected_with_the_servers_words(api: Api) -> None:
    with pytest.raises(Rejected, match="no route target"):
        await LocalWriteService(api.server).create(_create("nonsense"))


async def test_an_old_fence_ends_writing(api: Api) -> None:
    with pytest.raises(Fenced):
        await LocalWriteService(api.server).create(_create("target:1:1"), "default/7")


async def test_numbers_are_given_listed_and_freed(api: Api) -> None:
    write, read = services(api)
    value = await write.allocate("route_target_number", "default/u/rt")
    assert value == await write.allocate("route_target_number", "default/u/rt") == 8000100
    assert await read.all_allocations("default/") == (Allocation("route_target_number", "default/u/rt", value),)
    await write.free("route_target_number", "default/u/rt", value)
    assert await read.all_allocations("default/") == ()


async def test_a_derived_source_makes_the_same_bytes_every_time(schema: Schema) -> None:
    worlds = []
    for _ in range(2):
        store = MemoryStore()
        server = ApiServer(store, schema, source=DerivedSource())
        await write_seeds(server)
        await server.create("virtual_network", {"fq_name": [*PROJECT, "n"]})
        worlds.append([(item.key, item.value) for item in (await store.range("/", "0")).items])
        await store.close()
    assert worlds[0] == worlds[1]

"""The compiler's own HTTP services against the real server: what one sends the other must understand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import msgspec
import pytest
from anyio import create_task_group

from intentc.apiserver.serving import Running, running_api_server
from intentc.model import AddReference, Create, Delete, Key, Mark, Name, ReferenceValue, Schema, Update, object_uuid
from intentc.reconcile.failures import Conflict, Fenced, Rejected
from intentc.watch.etcd import EtcdStore
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import HttpReadService, HttpWriteService, http_services
from intentc.writing.interfaces import Allocation, Written

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

MARK = Mark("default", "contrail", "shared")
PROJECT = ("default-domain", "default-project")


@pytest.fixture
async def running(etcd_store: EtcdStore, schema: Schema, path: str) -> AsyncIterator[Running]:
    async with running_api_server(etcd_store, schema, path=path) as opened:
        yield opened


@pytest.fixture
async def services(running: Running, schema: Schema) -> AsyncIterator[tuple[HttpWriteService, HttpReadService]]:
    async with http_services(Endpoint(running.url), schema, pools=["route_target_number"]) as opened:
        yield opened


def target(number: int) -> Create:
    name = Name("route_target", (f"target:64512:{number}",))
    return Create(Key(name.kind, object_uuid("default", name, "shared")), name, None, MARK, {}, {})


async def test_a_hundred_writes_at_once_are_gathered_and_halved_at_the_servers_limit(
    services: tuple[HttpWriteService, HttpReadService],
) -> None:
    write, read = services
    creates = [target(number) for number in range(100)]
    async with create_task_group() as tasks:
        for create in creates:
            tasks.start_soon(write.create, create)
    for create in creates:
        assert await read.identify(create.name) == create.key
    stored = await read.read(creates[0].key)
    assert stored is not None
    pair = {"key": "intentc", "value": str(MARK)}
    assert msgspec.json.decode(stored.value)["annotations"] == {"key_value_pair": [pair]}
    assert write.capabilities.revisions
    async with create_task_group() as tasks:
        for create in creates:
            tasks.start_soon(write.delete, Delete(create.key, create.name, None))
    assert await read.identify(creates[0].name) is None


async def test_references_written_either_way_arrive(
    running: Running, services: tuple[HttpWriteService, HttpReadService], schema: Schema
) -> None:
    write, read = services
    made = await running.server.create("virtual_network", {"fq_name": [*PROJECT, "n"]})
    fq_name = (*PROJECT, "n", "n")
    key = await read.identify(Name("routing_instance", fq_name))
    assert made.revision and key is not None
    attribute = schema.kind("routing_instance").attribute_type("route_target")
    assert attribute is not None
    creates = [target(number) for number in range(2)]
    for create in creates:
        await write.create(create)
    values = [
        ReferenceValue(creates[0].key, creates[0].fq_name, attribute(import_export="import")),
        ReferenceValue(creates[1].key, creates[1].fq_name, attribute()),
    ]
    name = Name("routing_instance", fq_name)
    await write.update(Update(key, name, {}, {"route_target": (values[0],)}, None, (creates[0].key,)))
    await write.add_ref(AddReference(key, name, "route_target", values[1], relaxed=True))
    document = (await running.server.get(key)).document
    assert [(entry["to"], entry.get("attr")) for entry in document["route_target_refs"]] == [
        (["target:64512:0"], {"import_export": "import"}),
        (["target:64512:1"], None),
    ]
    for create in creates:
        await write.delete(Delete(create.key, create.name, None))
    assert "route_target_refs" not in (await running.server.get(key)).document


async def test_a_relaxed_reference_is_one_request_and_one_revision(
    running: Running, services: tuple[HttpWriteService, HttpReadService], schema: Schema
) -> None:
    write, read = services
    await running.server.create("virtual_network", {"fq_name": [*PROJECT, "n"]})
    name = Name("routing_instance", (*PROJECT, "n", "n"))
    key = await read.identify(name)
    attribute = schema.kind("routing_instance").attribute_type("route_target")
    assert key is not None
    assert attribute is not None
    one, other = target(1), target(2)
    await write.create(one)
    last = await write.create(other)
    values = [ReferenceValue(create.key, create.fq_name, attribute()) for create in (one, other)]
    update = await write.update(Update(key, name, {}, {"route_target": (values[0],)}, None, (one.key,)))
    added = await write.add_ref(AddReference(key, name, "route_target", values[1], relaxed=True))
    assert last.revision is not None
    assert (update.revision, added.revision) == (last.revision + 1, last.revision + 2)
    assert write.capabilities.relaxes
    for create in (one, other):
        deleted = await write.delete(Delete(create.key, create.name, None))
        assert deleted.revision, "a user's delete is not blocked"


async def test_an_existing_object_leaves_its_batch_and_the_others_are_written(running: Running, schema: Schema) -> None:
    """As at a restart whose plan does not know yet what is there."""
    requests: list[str] = []

    class Counting(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            requests.append(request.url.path)
            return await super().handle_async_request(request)

    there, new = [target(number) for number in range(6)], [target(number) for number in range(6, 20)]
    for create in there:
        await running.server.sync(
            [{"kind": "route_target", "data": {"uuid": create.uuid, "fq_name": list(create.fq_name)}}]
        )
    async with http_services(Endpoint(running.url), schema, pools=[], transport=Counting()) as (write, _):
        outcomes = await asyncio.gather(*(write.create(create) for create in [*there, *new]), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Conflict] * 6 + [Written] * 14
    assert requests == ["/"] + ["/sync"] * 7
    assert "item" not in str(outcomes[0]), "the place in a batch means nothing to whoever asked for one write"


async def test_rejections_keep_their_meaning(services: tuple[HttpWriteService, HttpReadService]) -> None:
    write, _ = services
    create = target(1)
    written = await write.create(create)
    assert written.revision
    with pytest.raises(Conflict):
        await write.create(create)
    with pytest.raises(Conflict):
        await write.delete(Delete(create.key, create.name, written.revision - 1))
    with pytest.raises(Conflict):
        await write.delete(Delete(Key("route_target", "gone"), create.name, None))
    with pytest.raises(Rejected, match="no route target"):
        key, name = Key("route_target", object_uuid("x", create.name, "y")), Name("route_target", ("nonsense",))
        await write.create(create._replace(key=key, name=name))
    with pytest.raises(Fenced):
        await write.delete(Delete(create.key, create.name, None), "nobody/7")


async def test_numbers(services: tuple[HttpWriteService, HttpReadService]) -> None:
    write, read = services
    assert await write.allocate("route_target_number", "default/u/rt") == 8000100
    assert await read.all_allocations("default/") == (Allocation("route_target_number", "default/u/rt", 8000100),)
    await write.free("route_target_number", "default/u/rt", 8000100)
    await write.free("route_target_number", "default/u/rt", 8000100)
    assert await read.all_allocations("default/") == ()

"""Writes that need more than one transaction takes: how many neighbours a resource has is no limit (docs/adr/0034)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from intentc.apiserver import large_commit
from intentc.apiserver.api_server import ANYONE, ApiServer, Call
from intentc.apiserver.draft import Draft
from intentc.apiserver.errors import ApiError
from intentc.apiserver.large_commit import LargeCommits
from intentc.apiserver.mutation import Fence
from intentc.model import Key, Schema
from intentc.reconcile.failures import Unavailable
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Compare, Delete, Operation, Put, TransactionResult

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

MANY = 5_000
SOME = 150
INDEX = "/intentc/apiserver/contrail/"


class Written(MemoryStore):
    """Counts transactions, and ends or delays the process at one of them: ``at`` is called before each that writes."""

    def __init__(self) -> None:
        super().__init__(max_txn_ops=128)
        self.writes = 0
        self.at: Callable[[int], None] | None = None
        self.after: Callable[[int], None] | None = None

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        is_write = any(isinstance(operation, Put | Delete) for operation in success)
        if is_write:
            self.writes += 1
            if self.at is not None:
                self.at(self.writes)
        result = await super().transaction(compares, success, failure)
        if is_write and self.after is not None:
            self.after(self.writes)
        return result


@pytest.fixture
async def store() -> Written:
    return Written()


async def policies(api: Api, count: int) -> list[dict[str, str]]:
    """References to so many new policies."""
    names = [f"p{number}" for number in range(count)]
    made = []
    for start in range(0, count, 20):
        items = [
            {"kind": "network_policy", "data": {"fq_name": [*PROJECT, name]}} for name in names[start : start + 20]
        ]
        made += [applied.data["uuid"] for applied in (await api.server.sync(items))[0]]
    return [{"uuid": uuid} for uuid in made]


async def keys(store: MemoryStore, part: str) -> list[str]:
    return [item.key for item in (await store.range(INDEX + part, INDEX + part + "\U0010ffff")).items]


async def index(store: MemoryStore) -> list[str]:
    return await keys(store, "")


async def test_a_resource_may_have_5000_references(api: Api, store: Written) -> None:
    references = await policies(api, MANY)
    before = await index(store)
    network = await api.create("virtual_network", "n", network_policy_refs=references)
    assert len(network["network_policy_refs"]) == MANY
    assert len([key for key in await keys(store, "holds/") if f"/{network['uuid']}/" in key]) == MANY + 1
    with rejected(409, "held by"):
        await api.delete("network_policy", references[-1]["uuid"])
    await api.update("virtual_network", network["uuid"], network_policy_refs=references[:1])
    await api.delete("network_policy", references[-1]["uuid"])
    await api.update("virtual_network", network["uuid"], network_policy_refs=references[:-1])
    await api.delete("virtual_network", network["uuid"])
    gone = references[-1]["uuid"], f":p{MANY - 1}"
    assert await index(store) == [key for key in before if not any(text in key for text in gone)]


async def referring(api: Api, count: int, kind: str, parent: list[str], targets: dict[str, str], **fields: Any) -> None:
    """Create so many resources that refer to one target, without blocking its deletion."""
    relation, uuid = next(iter(targets.items()))
    data = {f"{relation}_refs": [{"uuid": uuid}], **fields}
    for start in range(0, count, 10):
        names = [[*parent, f"r{number}"] for number in range(start, min(count, start + 10))]
        await api.server.sync([{"kind": kind, "data": {"fq_name": name, **data}, "relaxed": [uuid]} for name in names])


async def test_5000_references_of_users_are_dropped_with_their_target(api: Api, store: Written) -> None:
    policy = (await api.create("network_policy", "p"))["uuid"]
    await referring(api, MANY, "virtual_network", PROJECT, {"network_policy": policy})
    await api.delete("network_policy", policy)
    networks = (await store.range("/contrail/virtual_network/", "/contrail/virtual_network0")).items
    assert len(networks) > MANY
    assert not [item.key for item in networks if policy.encode() in item.value]
    assert not [key for key in await index(store) if policy in key]


async def test_5000_references_of_compilers_are_left_to_them_for_a_while(api: Api, store: Written) -> None:
    await api.create("virtual_network", "n")
    target = (await api.by_name("routing_instance", *PROJECT, "n", "n"))["uuid"]
    await api.create("virtual_network", "m")
    await referring(api, MANY, "routing_instance", [*PROJECT, "m"], {"routing_instance": target})
    network = await api.by_name("virtual_network", *PROJECT, "n")
    await api.delete("virtual_network", network["uuid"])
    assert not await api.exists("routing_instance", target)
    holder = await api.by_name("routing_instance", *PROJECT, "m", "r7")
    assert holder["routing_instance_refs"]
    # What a compiler that read it before the deletion writes is accepted; the reference is dropped with its target.
    await api.update("routing_instance", holder["uuid"], routing_instance_refs=holder["routing_instance_refs"])
    assert "routing_instance_refs" not in await api.get("routing_instance", holder["uuid"])
    await api.server.sweep()
    assert (await api.by_name("routing_instance", *PROJECT, "m", "r8"))["routing_instance_refs"]
    await api.server.sweep()
    assert not [key for key in await index(store) if target in key]
    instances = (await store.range("/contrail/routing_instance/", "/contrail/routing_instance0")).items
    assert len(instances) > MANY
    assert not [item.key for item in instances if target.encode() in item.value]


async def test_a_sweep_leaves_alone_what_compilers_are_working_on(api: Api, store: Written) -> None:
    await api.create("virtual_network", "n")
    target = (await api.by_name("routing_instance", *PROJECT, "n", "n"))["uuid"]
    await api.create("virtual_network", "m")
    await referring(api, 20, "routing_instance", [*PROJECT, "m"], {"routing_instance": target})
    await api.delete("virtual_network", (await api.by_name("virtual_network", *PROJECT, "n"))["uuid"])
    for number in range(3):
        await api.server.sweep()
        holder = await api.by_name("routing_instance", *PROJECT, "m", f"r{number}")
        await api.update("routing_instance", holder["uuid"], routing_instance_refs=[])
    assert len([key for key in await keys(store, "links/") if f"/{target}/" in key]) == 17


async def test_watchers_see_one_revision_of_the_resource(api: Api, store: Written) -> None:
    references = await policies(api, SOME)
    before = (await store.range("/")).revision
    made = await api.server.create("virtual_network", {"fq_name": [*PROJECT, "n"], "network_policy_refs": references})
    batches = store.batches("/contrail/", before)
    assert [batch.revision for batch in batches] == [made.revision]
    assert {event.item.key.split("/")[2] for event in batches[0].events} == {"virtual_network", "routing_instance"}


async def test_a_batch_is_never_committed_in_parts(api: Api, store: Written) -> None:
    references = await policies(api, SOME)
    items = [
        {"kind": "virtual_network", "data": {"fq_name": [*PROJECT, name], "network_policy_refs": references}}
        for name in ("a", "b")
    ]
    before = (await store.range("/")).revision
    with rejected(413, "the limit is 128"):
        await api.server.sync(items)
    assert (await store.range("/")).revision == before
    await api.server.sync(items[:1])


async def test_a_target_that_was_deleted_meanwhile_fails_the_commit(api: Api, store: Written, schema: Schema) -> None:
    references = await policies(api, SOME)
    other = ApiServer(store, schema)
    store.writes = 0

    def delete(number: int) -> None:
        if number == 1:
            store.at = None
            store._apply([Delete(f"/contrail/network_policy/{references[70]['uuid']}")])

    store.at = delete
    with rejected(409, references[70]["uuid"]):
        await other.create("virtual_network", {"fq_name": [*PROJECT, "n"], "network_policy_refs": references})
    assert await keys(store, "commit/") == []
    assert not [key for key in await keys(store, "holds/") if "virtual_network/" in key and "/reference" in key]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(1, 8))
@pytest.mark.parametrize("answered", [False, True])
async def test_a_server_that_ends_leaves_all_or_nothing(
    api: Api, store: Written, schema: Schema, step: int, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever transaction it ends before or after, the next write of another server finishes it or takes it back."""
    monkeypatch.setattr(large_commit, "_PATIENCE_SECONDS", 0.01)
    references = await policies(api, SOME)
    before = await index(store)
    store.writes = 0

    def end(number: int) -> None:
        if number >= step:
            raise Killed

    if answered:
        store.after = end
    else:
        store.at = end
    ended = False
    body = {"fq_name": [*PROJECT, "n"], "network_policy_refs": references}
    try:
        await api.server.create("virtual_network", body)
    except Killed:
        ended = True
    store.at = store.after = None
    other = Api(ApiServer(store, schema))
    await other.create("network_policy", "another")
    assert await keys(store, "commit/") == []
    there = {key for key in await index(store) if "another" not in key} - set(before)
    try:
        uuid = await other.server.identify("virtual_network", [*PROJECT, "n"])
    except ApiError:
        assert ended
        assert len([key for key in there if "/holds/" in key]) <= 1  # the other policy's
        await other.server.create("virtual_network", body)
        return
    assert len([key for key in there if "/holds/" in key and f"/{uuid}/reference" in key]) == SOME
    await other.delete("virtual_network", uuid)
    after = {key for key in await index(store) if "another" not in key}
    assert len(after - set(before)) <= 2  # the other policy's identity and place


async def test_a_paused_server_can_not_go_on_with_a_commit_that_was_taken_back(
    api: Api, store: Written, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_commit, "_PATIENCE_SECONDS", 0.01)
    references = await policies(api, SOME)
    other = Api(ApiServer(store, schema))
    decide = LargeCommits._decide
    pauses = 0

    async def paused(self: LargeCommits, *given: object) -> int:
        nonlocal pauses
        pauses += 1
        if pauses == 1:
            await other.create("network_policy", "meanwhile")
        return await decide(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(LargeCommits, "_decide", paused)
    network = await api.create("virtual_network", "n", network_policy_refs=references)
    assert pauses == 2  # the first try was taken back, and the second one began anew
    assert len((await api.get("virtual_network", network["uuid"]))["network_policy_refs"]) == SOME


async def test_a_former_leader_commits_nothing_large(api: Api, store: Written) -> None:
    references = await policies(api, SOME)
    await store.transaction((), [Put("/intentc/default/leader", b"me")])
    fence = (await store.range("/intentc/default/leader")).items[0].create_revision
    body = {"fq_name": [*PROJECT, "n"], "network_policy_refs": references}
    store.writes = 0

    def depose(number: int) -> None:
        if number == 2:  # the lock is taken, and the commit is not decided yet
            store._apply([Delete("/intentc/default/leader")])

    store.at = depose
    with rejected(412, "fence"):
        await api.server.create("virtual_network", body, call=Call(fence=Fence("default", fence)))
    store.at = None
    assert await keys(store, "commit/") == []
    assert not [key for key in await keys(store, "name/virtual_network/") if key.endswith(":n")]


async def test_an_unknown_outcome_of_the_deciding_write_is_reported_and_cleaned_up(
    api: Api, store: Written, schema: Schema
) -> None:
    references = await policies(api, SOME)
    body = {"fq_name": [*PROJECT, "n"], "network_policy_refs": references}
    store.writes = 0

    def silent(number: int) -> None:
        if number == 2:
            raise Unavailable("no answer")

    store.after = silent
    with rejected(504, "unknown"):
        await api.server.create("virtual_network", body)
    store.after = None
    await api.create("network_policy", "another")
    uuid = await api.server.identify("virtual_network", [*PROJECT, "n"])
    assert len((await api.get("virtual_network", uuid))["network_policy_refs"]) == SOME
    assert len([key for key in await keys(store, "holds/") if f"/{uuid}/reference" in key]) == SOME
    assert await keys(store, "commit/") == []


async def test_large_and_small_writes_of_several_servers_all_succeed(store: Written, schema: Schema, api: Api) -> None:
    references = await policies(api, SOME)
    servers = [api.server, ApiServer(store, schema), ApiServer(store, schema)]

    async def large(number: int) -> None:
        body = {"fq_name": [*PROJECT, f"large{number}"], "network_policy_refs": references}
        made = await servers[number % 3].create("virtual_network", body)
        if number % 2:
            await servers[(number + 1) % 3].delete(Key("virtual_network", made.document["uuid"]))

    async def small(number: int) -> None:
        await servers[number % 3].create("network_policy", {"fq_name": [*PROJECT, f"small{number}"]})

    async with anyio.create_task_group() as tasks:
        for number in range(9):
            tasks.start_soon(large, number)
            tasks.start_soon(small, number)
    assert len([key for key in await keys(store, "name/virtual_network/") if ":large" in key]) == 5
    assert len([key for key in await keys(store, "name/network_policy/") if ":small" in key]) == 9
    assert len([key for key in await keys(store, "holds/") if "/virtual_network/" in key]) == 5 * SOME + 5 + 3
    assert await keys(store, "commit/") == []


async def test_dry_runs_of_large_writes_write_nothing(api: Api, store: Written) -> None:
    references = await policies(api, SOME)
    before = (await store.range("/")).revision
    body, kind = {"fq_name": [*PROJECT, "n"], "network_policy_refs": references}, api.server.kind("virtual_network")

    async def create(draft: Draft) -> None:
        await api.server.resources.create(draft, kind, body, ANYONE)

    await api.server.commit(create, kind.name, dry_run=True)
    assert (await store.range("/")).revision == before

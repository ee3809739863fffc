"""Several servers on one store: one name, one number, one change lost never (docs/engine.md §6, §9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio
import pytest

from intentc.apiserver.api_server import ApiServer, Call
from intentc.apiserver.errors import ApiError
from intentc.apiserver.mutation import Fence
from intentc.apiserver.references import ReferenceUpdate
from intentc.apiserver.resources import Condition
from intentc.apiserver.sources import RandomSource
from intentc.apiserver.startup import write_seeds
from intentc.model import Key, Name, Schema
from intentc.reconcile.failures import Unavailable
from intentc.watch.protocol import Compare, Operation, Put, TransactionResult
from tests.support.faulty_store import FaultyStore

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


async def test_servers_that_start_at_once_write_the_same_seeds(store: FaultyStore, schema: Schema) -> None:
    servers = [ApiServer(store, schema) for _ in range(4)]
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(write_seeds, server)
    networks = (await store.range("/contrail/virtual_network/", "/contrail/virtual_network0")).items
    assert len(networks) == 3


async def test_one_of_two_servers_gets_the_name(store: FaultyStore, schema: Schema, api: Api) -> None:
    servers = [api.server, ApiServer(store, schema)]
    outcomes: list[int] = []

    async def create(server: ApiServer, name: str) -> None:
        try:
            await server.create("network_policy", {"fq_name": [*PROJECT, name]})
            outcomes.append(200)
        except ApiError as error:
            outcomes.append(error.status)

    async with anyio.create_task_group() as tasks:
        for n in range(10):
            for server in servers:
                tasks.start_soon(create, server, f"p{n}")
    assert sorted(outcomes) == [200] * 10 + [409] * 10


async def test_servers_share_a_pool(store: FaultyStore, schema: Schema, api: Api) -> None:
    servers = [api.server, ApiServer(store, schema), ApiServer(store, schema)]
    given: list[int] = []

    async def take(server: ApiServer, owner: str) -> None:
        given.append((await server.allocate("route_target_number", owner))[0])

    async with anyio.create_task_group() as tasks:
        for n in range(60):
            tasks.start_soon(take, servers[n % 3], f"o{n}")
    assert sorted(given) == list(range(8000100, 8000160))


class _Repeating(RandomSource):
    """Gives each uuid twice, against all odds."""

    def __init__(self) -> None:
        self._given: list[str] = []

    def uuid(self, name: Name, purpose: str = "") -> str:
        if not self._given:
            self._given = [super().uuid(name, purpose)] * 2
        return self._given.pop()


async def test_a_generated_uuid_that_is_taken_is_not_given_again(store: FaultyStore, schema: Schema, api: Api) -> None:
    server = ApiServer(store, schema, source=_Repeating())
    created = [await server.create("network_policy", {"fq_name": [*PROJECT, f"p{n}"]}) for n in range(5)]
    assert len({one.document["uuid"] for one in created}) == 5


class _Interleaved(FaultyStore):
    """Before its ``turn``-th transaction from now on, somebody else has theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = 0
        self.rival: Callable[[], Awaitable[None]] | None = None

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        self.turn -= 1
        if self.turn == 0 and self.rival is not None:
            await self.rival()
        return await super().transaction(compares, success, failure)


@pytest.mark.parametrize("turn", range(1, 6))
@pytest.mark.parametrize("by", ["value", "owner", "both"])
async def test_a_late_free_never_takes_the_number_from_the_next_owner(schema: Schema, by: str, turn: int) -> None:
    """Wherever between its reads and its commit another server frees the number and gives it away."""
    store = _Interleaved()
    server, other = ApiServer(store, schema), ApiServer(store, schema)
    await server.create_pool("p", 0, 3)
    value, _ = await server.allocate("p", "a")

    async def free_and_give() -> None:
        await other.free("p", value=value, owner="a")
        assert (await other.allocate("p", "b"))[0] == value

    store.turn, store.rival = turn, free_and_give
    asked = {"value": {"value": value}, "owner": {"owner": "a"}, "both": {"value": value, "owner": "a"}}
    await server.free("p", **asked[by])  # type: ignore[arg-type]
    store.rival = None
    if store.turn > 0:
        await free_and_give()  # the rival's turn had not come
    holders = [(held.owner, held.value) for held in await server.held("p", "")]
    if by == "value" and not holders:
        # Freed whoever held it: then it was the next owner's, and all of it is gone.
        assert (await server.allocate("p", "c"))[0] == value
    else:
        assert holders == [("b", value)]
        assert await server.owner_of("p", value) == "b"
        assert (await server.allocate("p", "c"))[0] == value + 1
    await store.close()


async def test_repeated_frees_on_two_servers_never_give_a_number_to_two(
    store: FaultyStore, schema: Schema, api: Api
) -> None:
    servers = [api.server, ApiServer(store, schema)]
    pool = "route_target_number"

    async def live(number: int) -> None:
        for turn in range(4):
            owner = f"o{number}/{turn}"
            value, _ = await servers[number % 2].allocate(pool, owner)
            async with anyio.create_task_group() as both:
                for server in servers:
                    both.start_soon(partial(server.free, pool, value=value, owner=owner))
        await servers[number % 2].allocate(pool, f"o{number}/last")

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(live, number)
    holders = [(held.owner, held.value) for held in await api.server.held(pool, "")]
    assert len(holders) == 8
    assert len({value for _, value in holders}) == 8
    for owner, value in holders:
        assert await api.server.owner_of(pool, value) == owner


async def test_references_added_at_once_are_all_there(store: FaultyStore, schema: Schema, api: Api) -> None:
    servers = [api.server, ApiServer(store, schema)]
    network = await api.create("virtual_network", "n")
    policies = [await api.create("network_policy", f"p{n}") for n in range(12)]
    async with anyio.create_task_group() as tasks:
        for n, policy in enumerate(policies):
            update = ReferenceUpdate(Key("virtual_network", network["uuid"]), "network_policy", True, policy["uuid"])
            tasks.start_soon(servers[n % 2].update_reference, update)
    assert len((await api.get("virtual_network", network["uuid"]))["network_policy_refs"]) == 12


async def test_a_target_is_never_deleted_under_a_new_reference(store: FaultyStore, schema: Schema, api: Api) -> None:
    other = ApiServer(store, schema)
    for n in range(10):
        policy = await api.create("network_policy", f"p{n}")
        body = {"fq_name": [*PROJECT, f"n{n}"], "network_policy_refs": [{"uuid": policy["uuid"]}]}
        outcomes: dict[str, int] = {}

        async def attempt(what: str, call: object, outcomes: dict[str, int] = outcomes) -> None:
            try:
                await call  # type: ignore[misc]
                outcomes[what] = 200
            except ApiError as error:
                outcomes[what] = error.status

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(attempt, "create", other.create("virtual_network", body))
            tasks.start_soon(attempt, "delete", api.server.delete(Key("network_policy", policy["uuid"])))
        assert sorted(outcomes.values()) == [200, 409]


async def test_if_match_holds_or_nothing_is_written(api: Api) -> None:
    made = await api.server.create("network_policy", {"fq_name": [*PROJECT, "p"]})
    key = Key("network_policy", made.document["uuid"])
    changed = await api.server.update(key, {"display_name": "x"}, call=Call(condition=Condition(made.revision)))
    assert changed.revision > made.revision
    with rejected(412, "If-Match", str(changed.revision)):
        await api.server.update(key, {"display_name": "y"}, call=Call(condition=Condition(made.revision)))
    with rejected(412):
        await api.server.delete(key, call=Call(condition=Condition(made.revision)))
    await api.server.delete(key, call=Call(condition=Condition(changed.revision)))


async def test_a_write_with_an_old_fence_is_rejected(store: FaultyStore, api: Api) -> None:
    await store.transaction((), [Put("/intentc/default/leader", b"me")])
    fence = (await store.range("/intentc/default/leader")).items[0].create_revision
    made = await api.server.create(
        "network_policy", {"fq_name": [*PROJECT, "p"]}, call=Call(fence=Fence("default", fence))
    )
    old = Fence("default", fence - 1)
    key = Key("network_policy", made.document["uuid"])
    before = (await store.range("/")).revision
    for call in (
        api.server.create("network_policy", {"fq_name": [*PROJECT, "q"]}, call=Call(fence=old)),
        api.server.update(key, {"display_name": "x"}, call=Call(fence=old)),
        api.server.update(key, {}, call=Call(fence=old)),
        api.server.delete(key, call=Call(fence=old)),
        api.server.allocate("route_target_number", "o", fence=old),
        api.server.sync([{"kind": "project", "data": {"fq_name": ["default-domain", "x"]}}], call=Call(fence=old)),
    ):
        with rejected(412):
            await call
    assert (await store.range("/")).revision == before


async def test_nobody_writes_with_a_fence_of_0_while_nobody_leads(store: FaultyStore, api: Api) -> None:
    """An absent key has create revision 0, so etcd's own compare would hold."""
    before = (await store.range("/")).revision
    with rejected(412, "fence default/0", "nobody leads"):
        await api.server.create("network_policy", {"fq_name": [*PROJECT, "p"]}, call=Call(fence=Fence("default", 0)))
    with rejected(412, "fence default/0"):
        await api.server.allocate("route_target_number", "o", fence=Fence("default", 0))
    assert (await store.range("/")).revision == before


async def test_the_rejection_of_a_fence_begins_with_the_word(api: Api) -> None:
    with pytest.raises(ApiError, match=r"^fence nobody/7"):
        await api.server.create("network_policy", {"fq_name": [*PROJECT, "p"]}, call=Call(fence=Fence("nobody", 7)))


async def test_a_fence_that_is_none_is_rejected() -> None:
    for text in ("7", "/7", "a/b", "a/", "a/²", "a/-1", "a/" + "7" * 5000, f"a/{2**63}"):
        with rejected(400, "X-Intentc-Fence"):
            Fence.parse(text)
    assert Fence.parse("a/b/7") == Fence("a/b", 7)


class _Silent(FaultyStore):
    """A store that carries a write out and does not answer."""

    silent = False

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        result = await super().transaction(compares, success, failure)
        if self.silent and any(isinstance(operation, Put) for operation in success):
            raise Unavailable("no answer")
        return result


async def test_a_write_without_answer_has_an_unknown_outcome_and_is_never_repeated(schema: Schema) -> None:
    store = _Silent()
    server = ApiServer(store, schema)
    await write_seeds(server)
    store.silent = True
    with rejected(504, "unknown"):
        await server.create("network_policy", {"fq_name": [*PROJECT, "p"]})
    store.silent = False
    assert await server.identify("network_policy", [*PROJECT, "p"])
    store.faults.unreachable = True
    with rejected(503, "reached"):
        await server.identify("network_policy", [*PROJECT, "p"])
    await store.close()

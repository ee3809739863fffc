"""Objects below a deleted network are deleted with it, even if no intent has claimed them yet."""

from __future__ import annotations

import pytest
from pytest_mock import MockerFixture

from intentc.apiserver.errors import NotFound
from intentc.model import Key, Name
from intentc.offline.offline import Offline
from intentc.plugins import find_compilers, load_all
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Put

pytestmark = pytest.mark.anyio

PROJECT = ("default-domain", "default-project")
NETWORK = (*PROJECT, "blue")
MINE = Name("routing_instance", (*NETWORK, "mine"))


async def test_a_users_instance_that_waits_for_a_number_goes_with_its_network(
    mocker: MockerFixture,
) -> None:
    """A number that can not be given does not keep an instance (docs/contrail.md D.1, D.3)."""
    offline = Offline(load_all(find_compilers(["contrail"])))
    await offline.seed()
    mocker.patch.object(offline.local, "allocate", side_effect=Failure("the pool is used up"))
    await offline.apply(
        [
            {"kind": "virtual_network", "data": {"fq_name": list(NETWORK), "parent_type": "project"}},
        ]
    )
    await offline.apply(
        [{"kind": MINE.kind, "data": {"fq_name": list(MINE.fq_name), "parent_type": "virtual-network"}}]
    )
    uuid = await offline.server.identify(MINE.kind, MINE.fq_name)
    assert Key(MINE.kind, uuid) in offline.engine.states.waiting
    await offline.server.delete(Key("virtual_network", await offline.server.identify("virtual_network", NETWORK)))
    await offline.settle()
    with pytest.raises(NotFound):
        await offline.server.identify(MINE.kind, MINE.fq_name)


async def test_a_users_routing_instance_whose_key_comes_before_its_networks_stays() -> None:
    """As when somebody copies a store key by key."""
    loaded = load_all(find_compilers(["contrail"]))
    source, offline = Offline(loaded), Offline(loaded)
    await source.seed()
    await offline.seed()
    before = {item.key for item in (await source.store.range("/", "0")).items}
    await source.apply([{"kind": "virtual_network", "data": {"fq_name": list(NETWORK), "parent_type": "project"}}])
    await source.apply([{"kind": MINE.kind, "data": {"fq_name": list(MINE.fq_name), "parent_type": "virtual-network"}}])
    new = [item for item in (await source.store.range("/", "0")).items if item.key not in before]
    for item in sorted(new, key=lambda item: item.key):
        await offline.store.transaction([], [Put(item.key, item.value)])
        await offline.settle()
    assert await offline.server.identify(MINE.kind, MINE.fq_name)
    assert {item.key for item in new if "/routing_instance/" in item.key} <= {
        item.key for item in (await offline.store.range("/", "0")).items
    }

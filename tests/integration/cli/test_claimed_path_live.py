"""Two installations over one ``etcd.path``, as processes on a real etcd and API server: the second refuses to start."""

from __future__ import annotations

import msgspec
import pytest

from intentc.watch.keys import claim_key, leader_key
from intentc.watch.protocol import Delete, Put
from tests.support.commands import Intentc
from tests.support.contrail_content import tenant
from tests.support.live_system import LiveSystem
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_a_second_installation_does_not_start_until_the_first_releases_the_path(
    world: LiveSystem, intentc: Intentc
) -> None:
    first = intentc.start()
    await tenant(world)
    await first.settled(world.revision)
    before, numbers = await world.values(), await world.numbers()
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    other = {"INTENTC_INTENTC__INSTALLATION": "other"}

    rejected = await intentc("run", environment=other)
    assert rejected.code == 3
    assert f"belongs to the installation {world.path}" in rejected.err
    assert "etcd.path" in rejected.err and "release --all" in rejected.err
    assert (await world.values(), await world.numbers()) == (before, numbers)

    assert await first.terminate() == 0
    stopped = await intentc("run", environment=other)
    assert stopped.code == 3, "a compiler that is stopped still holds its path"

    released = await intentc("release", "--all")
    assert released.code == 0, released.err
    assert f"path {world.path} is released" in released.err
    intentc.write({**configuration, "intentc": {**configuration["intentc"], "installation": "other"}})
    second = intentc.start()
    await second.settled(world.revision)
    rejected = await intentc("run", environment={"INTENTC_INTENTC__INSTALLATION": world.path})
    assert rejected.code == 3 and "belongs to the installation other" in rejected.err


async def test_a_path_that_another_installation_marked_before_there_were_claims_is_not_claimed(
    world: LiveSystem, intentc: Intentc
) -> None:
    """As after an upgrade from a version without claims."""
    first = intentc.start()
    await tenant(world)
    await first.settled(world.revision)
    assert await first.terminate() == 0
    await world.store.transaction([], [Delete(claim_key(world.path))])
    before, numbers = await world.values(), await world.numbers()
    other = {"INTENTC_INTENTC__INSTALLATION": "other"}

    rejected = await intentc("run", environment=other)
    assert rejected.code == 3
    assert f"carry the mark of the installation {world.path}" in rejected.err
    assert f"`intentc release --all` with intentc.installation: {world.path}" in rejected.err
    assert "Traceback" not in rejected.err
    assert (await world.values(), await world.numbers()) == (before, numbers)
    assert not (await world.store.range(claim_key(world.path))).items

    assert (await intentc("release", "--all")).code == 0
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    intentc.write({**configuration, "intentc": {**configuration["intentc"], "installation": "other"}})
    await intentc.start().settled(world.revision)


async def test_an_unreadable_claim_ends_the_compiler_with_the_remedy(world: LiveSystem, intentc: Intentc) -> None:
    await tenant(world)
    key = claim_key(world.path)
    await world.store.transaction([], [Put(key, b"\xff[")])
    before, numbers = await world.values(), await world.numbers()
    rejected = await intentc("run")
    assert rejected.code == 3
    assert f"`etcdctl del {key}`" in rejected.err and "Traceback" not in rejected.err
    assert (await world.values(), await world.numbers()) == (before, numbers)
    released = await intentc("release", "--all")
    assert released.code == 3 and f"`etcdctl del {key}`" in released.err
    await world.store.transaction([], [Delete(key)])
    await intentc.start().settled(world.revision)


async def test_a_compiler_says_for_which_other_one_it_waits(world: LiveSystem, intentc: Intentc) -> None:
    """Another installation's compiler, of a version without claims, leads and may write below any path."""
    lease = await world.store.grant_lease(600)
    other = f"before-{world.path}"
    await world.store.transaction([], [Put(leader_key(other), b"{}", lease)])
    try:
        waiting = intentc.start()
        await until(lambda: f"the installation {other} leads" in waiting.log)
        assert f"the installation {other} leads" in str(await waiting.status())
    finally:
        await world.store.revoke_lease(lease)
    await tenant(world)
    await waiting.settled(world.revision)

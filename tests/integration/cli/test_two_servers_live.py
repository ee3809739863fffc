"""Two API servers over one etcd: when one ends, compiler and commands that name both go on with the other."""

from __future__ import annotations

import anyio
import pytest

from intentc.service.service import build_service
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import http_services
from tests.support.commands import Intentc
from tests.support.live_system import LiveSystem
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

_GROUPS = 40


async def test_compiler_and_commands_go_on_when_one_server_ends_in_the_middle_of_writes(
    world: LiveSystem, intentc: Intentc
) -> None:
    ending = anyio.Event()
    both: list[str] = []
    ready = anyio.Event()

    async def first() -> None:
        async with world.serving(port=0) as running:
            both[:] = [running.url, world.url]
            ready.set()
            await ending.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await ready.wait()
        async with http_services(
            Endpoint(both[0], others=(both[1],)), world.loaded.schema, pools=world.loaded.pools
        ) as (write, read):
            service = build_service(world.configuration, world.loaded, world.store, write, read)
            tasks.start_soon(service.run)
            for number in range(_GROUPS):
                await world.create("security_group", f"group{number}")
            await until(lambda: service.engine.sender.last_revision > 0)
            ending.set()
            await world.settle(service)
            lists = await intentc(
                "get",
                "access_control_list",
                "-o",
                "json",
                environment={"INTENTC_CLIENT__ENDPOINT": ",".join(both)},
            )
            assert lists.code == 0, lists.err
            await world.assert_compiled()
            tasks.cancel_scope.cancel()

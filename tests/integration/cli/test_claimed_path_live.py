"""Two installations over one ``etcd.path``, as processes on a real etcd and API server: the second refuses to start."""

from __future__ import annotations

import msgspec
import pytest

from tests.integration.cli.processes import Intentc
from tests.integration.compile.contents import tenant
from tests.integration.compile.world import World

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_a_second_installation_refuses_to_start_until_the_first_gives_the_path_up(
    world: World, intentc: Intentc
) -> None:
    first = intentc.start()
    await tenant(world)
    await first.settled(world.revision)
    before, numbers = await world.values(), await world.numbers()
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    other = {"INTENTC_INTENTC__INSTALLATION": "other"}

    refused = await intentc("run", environment=other)
    assert refused.code == 3
    assert f"belongs to the installation {world.path}" in refused.err
    assert "etcd.path" in refused.err and "release --all" in refused.err
    assert (await world.values(), await world.numbers()) == (before, numbers)

    assert await first.terminate() == 0
    stopped = await intentc("run", environment=other)
    assert stopped.code == 3, "a compiler that is stopped still holds its path"

    released = await intentc("release", "--all")
    assert released.code == 0, released.err
    assert f"path {world.path} is given up" in released.err
    intentc.write({**configuration, "intentc": {**configuration["intentc"], "installation": "other"}})
    second = intentc.start()
    await second.settled(world.revision)
    refused = await intentc("run", environment={"INTENTC_INTENTC__INSTALLATION": world.path})
    assert refused.code == 3 and "belongs to the installation other" in refused.err

"""Two compilers of one shared kind over one real etcd and one API server, each as an installation of its own."""

from __future__ import annotations

import anyio
import msgspec
import pytest

from intentc.leading import InstallationTaken
from intentc.loading.configuration import Configuration
from intentc.loading.schemas import load_schema
from intentc.model.manifest import manifest_uuid
from intentc.plugins import Loaded, load_all
from intentc.service.service import CompilerService
from tests.support.live_system import LiveSystem
from tests.support.pair.compilers import EAST, WEST

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

DOOR = manifest_uuid("door", ("house", "front"))


@pytest.fixture
def loaded() -> Loaded:
    """The kinds of both for the API server, and the compiler ``east``."""
    schema = load_schema("east", "west", directories=EAST.schema_directories, apart=True)
    return load_all((EAST,))._replace(schema=schema)


def of(world: LiveSystem, compiler: str) -> LiveSystem:
    """The same world as a process of another compiler has it."""
    other = LiveSystem(world.store, load_all((EAST if compiler == "east" else WEST,)))
    other.path, other.port = world.path, world.port
    own = msgspec.structs.replace(world.configuration.intentc, installation=f"{world.path}-{compiler}")
    other.configuration = Configuration(etcd=world.configuration.etcd, intentc=own)
    return other


async def stored(world: LiveSystem) -> dict[str, str]:
    """``kind name`` → text of each object that a compiler made."""
    return {
        f"{kind} {one['fq_name'][-1]}": one["text"]
        for kind, resources in (await world.stored()).items()
        for one in resources.values()
        if kind != "door"
    }


async def test_both_compile_at_once_lead_at_once_and_restart_without_a_write(world: LiveSystem) -> None:
    east, west = of(world, "east"), of(world, "west")

    async def settled(*services: CompilerService) -> None:
        for _ in range(2):
            for service in services:
                await world.settle(service)

    async with east.compiling() as one, west.compiling() as two:
        await world.sync(("CREATE", "door", {"uuid": DOOR, "fq_name": ["house", "front"], "east": "a", "west": "b"}))
        await settled(one, two)
        assert one.engine.may_write and two.engine.may_write
        assert await stored(world) == {
            "east_beam front": "a", "west_beam front": "b", "lamp front-east": "east", "lamp front-west": "west",
        }  # fmt: skip
        (door,) = (await world.stored())["door"].values()
        assert {item["type"] for item in door["status"]["conditions"]} == {"East", "West"}
        assert sorted(door["status_claims"]) == [f"{world.path}-east", f"{world.path}-west"]
    before = await world.values()
    async with east.compiling() as one, west.compiling() as two:
        await settled(one, two)
        assert await world.values() == before
    async with west.compiling() as two:
        await world.delete("door", DOOR)
        await settled(two)
        assert await stored(world) == {"east_beam front": "a", "lamp front-east": "east"}, "one alone takes its own"
    async with east.compiling() as one:
        await settled(one)
        assert await stored(world) == {}


async def test_the_name_of_an_installation_is_not_given_to_another_compiler(world: LiveSystem) -> None:
    east, west = of(world, "east"), of(world, "west")
    await east.compile_once()
    west.configuration = east.configuration
    with pytest.RaisesGroup(InstallationTaken, flatten_subgroups=True):
        async with west.compiling():
            await anyio.sleep_forever()

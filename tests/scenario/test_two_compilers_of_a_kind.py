"""Two compilers that compile one shared kind work over one store and one API server, each as its own installation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.local import LocalWriteService
from intentc.evaluation import Compiler
from intentc.loading.schemas import load_schema
from intentc.model import InvalidInput
from intentc.model.manifest import manifest_uuid
from intentc.offline.offline import PATH, Offline
from intentc.plugins import load_all
from intentc.watch.memory import MemoryStore
from tests.support.pair.compilers import EAST, WEST

pytestmark = pytest.mark.anyio

SCHEMA = load_schema("east", "west", directories=EAST.schema_directories, apart=True)
DOOR = manifest_uuid("door", ("house", "front"))


class Pair:
    """One store and one API server with the kinds of both compilers, and one engine of each."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.server = ApiServer(self.store, SCHEMA, path=PATH)
        self.east, self.west = self.start(EAST), self.start(WEST)

    def start(self, compiler: Compiler) -> Offline:
        """A process of a compiler, as after a restart."""
        services = LocalWriteService(self.server)
        return Offline(
            load_all((compiler,)), installation=compiler.name, store=self.store, write=services, read=services
        )

    async def door(self, operation: str = "CREATE", **words: str) -> None:
        """One request of a user, and what both make of it."""
        data: dict[str, Any] = {"uuid": DOOR}
        if operation != "DELETE":
            data |= {"fq_name": ["house", "front"], **words}
        await self.server.sync([{"kind": "door", "operation": operation, "data": data}])
        await self.work()

    async def work(self) -> None:
        for _ in range(2):
            await self.east.settle()
            await self.west.settle()

    async def stored(self) -> dict[str, dict[str, Any]]:
        """``kind name`` → each resource."""
        found = {}
        for item in (await self.store.range(f"/{PATH}/", f"/{PATH}0")).items:
            value = msgspec.json.decode(item.value)
            found[f"{item.key.split('/')[2]} {value['fq_name'][-1]}"] = value
        return found

    async def status(self) -> dict[str, str]:
        """Item → value of the door's status; a condition's value is its message."""
        found = (await self.stored())["door front"]["status"]
        conditions = {one["type"]: one["message"] for one in found.pop("conditions", ())}
        return {**found, **conditions}

    async def revision(self) -> int:
        return (await self.store.range("/", "0")).revision


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_one_process_does_not_run_both_and_the_error_says_what_to_do() -> None:
    apart = [(EAST, "east"), (WEST, "west")]
    assert all(load_all((compiler,)).compiler_of_kind["door"] == name for compiler, name in apart)
    with pytest.raises(InvalidInput, match="lookout"):
        load_all((EAST, WEST))
    assert sorted(SCHEMA.kinds) == ["door", "east_beam", "lamp", "west_beam"], "facts are those of each process"


def test_each_has_a_reaction_map_of_its_own() -> None:
    east, west = load_all((EAST,)).reactions, load_all((WEST,)).reactions
    assert [len(reaction.visits) for reactions in (east, west) for reaction in reactions] == [0, 1]


async def test_each_makes_its_own_and_a_further_pass_of_either_writes_nothing(pair: Pair) -> None:
    await pair.door(east="red", west="blue")
    made = ["door front", "east_beam front", "lamp front-east", "lamp front-west", "west_beam front"]
    assert sorted(await pair.stored()) == made
    assert await pair.status() == {"east": "red", "west": "blue", "East": "red", "West": "blue"}
    before = await pair.revision()
    for compiler in (EAST, WEST, EAST):
        await pair.start(compiler).settle()
    assert await pair.revision() == before
    assert not pair.east.problems() and not pair.west.problems()


async def test_what_one_takes_back_leaves_the_others(pair: Pair) -> None:
    await pair.door(east="red", west="blue")
    await pair.door("UPDATE", west="")
    assert sorted(await pair.stored()) == ["door front", "east_beam front", "lamp front-east"]
    assert await pair.status() == {"east": "red", "East": "red"}
    await pair.door("DELETE")
    assert await pair.stored() == {}


async def test_only_its_own_compiler_clears_what_it_lost_while_it_did_not_run(pair: Pair) -> None:
    await pair.door(east="red", west="blue")
    data = {"uuid": DOOR, "east": "", "west": "green"}
    await pair.server.sync([{"kind": "door", "operation": "UPDATE", "data": data}])
    await pair.start(WEST).settle()
    assert await pair.status() == {"east": "red", "East": "red", "west": "green", "West": "green"}
    await pair.start(EAST).settle()
    assert await pair.status() == {"west": "green", "West": "green"}
    assert sorted(await pair.stored()) == ["door front", "lamp front-west", "west_beam front"]


@pytest.mark.parametrize("word", ["hold", "fail"])
async def test_a_door_that_one_can_not_compile_is_compiled_by_the_other(pair: Pair, word: str) -> None:
    await pair.door(east="red", west="blue")
    await pair.door("UPDATE", east="green", west=word)
    found = await pair.stored()
    assert (found["east_beam front"]["text"], found["west_beam front"]["text"]) == ("green", "blue")
    assert (await pair.status())["east"] == "green"
    assert not pair.east.problems() and pair.west.problems()


async def test_the_first_of_two_claimants_has_the_object_and_the_other_reports_it(pair: Pair) -> None:
    await pair.door(east="same")
    await pair.door("UPDATE", west="same")
    found = await pair.stored()
    assert found["lamp front"]["text"] == "east"
    assert found["west_beam front"]["text"] == "same", "everything else is made"
    assert [problem.reason for problem in pair.west.problems()] == ["NameTaken"]
    assert not pair.east.problems()
    before = await pair.revision()
    await pair.start(WEST).settle()
    await pair.start(EAST).settle()
    assert await pair.revision() == before
    await pair.door("UPDATE", east="")
    assert (await pair.stored())["lamp front"]["text"] == "west", "it is made once the name is free"

"""F23, a reload under load: right, wrong and right again, map and configuration, while everything changes.

An invalid file leaves the former one in force; a valid one evaluates only affected intents again; and whatever map was
in force meanwhile, the outputs are the same.
"""

from __future__ import annotations

import signal
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.faults.load import Tenants, offer
from tests.faults.oracles import check, flat, listed
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE, RELOADS
from tests.faults.scale_writing import seeded
from tests.support.contrail_content import LOCAL, group, rule, rules
from tests.support.shipped_map import SHIPPED, WITHOUT_GROUPS, to_groups
from tests.support.waiting import pauses

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

TO_NETWORKS = to_groups("[security_group, security_logging_object, project, all: virtual_network]")
UNKNOWN = to_groups("[security_groups]")
TORN = SHIPPED[: len(SHIPPED) // 2] + "\n  ]"
_LOAD = BASE._replace(rate=BASE.rate // 2, seconds=min(BASE.seconds, 10.0))
"""Offered again and again, until the rounds are over; half the base load, since each round has a fifth of the world
evaluated again besides."""


class Files:
    """The map and the configuration of one compiler, and what came of its reloads."""

    def __init__(self, bench: ProcessSystem) -> None:
        self.map = bench.folder / "reactions.yml"
        self.map.write_text(SHIPPED)
        bench.settings["intentc"]["reactions"] = {"contrail": str(self.map)}
        self.compiler = bench.start()
        self.configuration: Path = bench.folder / "compiler-1.yml"
        self.right = self.configuration.read_bytes()

    async def reload(self, times: int = 1) -> dict[str, Any]:
        """SIGHUP, so often; what the status says of reloads once one more has ended."""
        before = await self.reported()
        for _ in range(times):
            self.compiler.process.send_signal(signal.SIGHUP)

        async def ended() -> bool:
            now = await self.reported()
            done = now["reloads"] + now["failures"] > before["reloads"] + before["failures"]
            return bool(done and not now["under_way"])

        await reached(ended)
        return await self.reported()

    async def reported(self) -> dict[str, Any]:
        return dict((await self.compiler.status())["reload"])

    async def rejected(self, words: str) -> None:
        """A reload that leaves all as it was, and says why."""
        before = await self.reported()
        after = await self.reload()
        assert words in after["last_error"]
        assert (after["reloads"], after["failures"]) == (before["reloads"], before["failures"] + 1)
        assert after["loaded_at"] == before["loaded_at"]

    async def taken(self, reactions: str) -> None:
        """A reload that takes this map into use."""
        before = await self.reported()
        self.map.write_text(reactions)
        after = await self.reload()
        assert after["last_error"] is None
        assert after["loaded_at"] > before["loaded_at"]


async def reached(condition: Callable[[], Awaitable[bool]]) -> None:
    """Ask until it holds. Raises ``TimeoutError``."""
    with anyio.fail_after(BASE.patience):
        for pause in pauses():
            if await condition():
                return
            await anyio.sleep(pause)


async def crowd(bench: ProcessSystem) -> tuple[Tenants, Files]:
    """A population that is compiled."""
    tenants = Tenants(bench.world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    files = Files(bench)
    await files.compiler.quiet(bench.world.revision, BASE.patience)
    return tenants, files


async def test_f23_outputs_are_the_same_under_any_map(bench: ProcessSystem) -> None:
    tenants, files = await crowd(bench)
    used = files.compiler.usage()
    async with anyio.create_task_group() as loading:
        loading.start_soon(_load, tenants)
        for _ in range(RELOADS):
            await _round(files)
        loading.cancel_scope.cancel()
    status = await files.compiler.quiet(bench.world.revision, BASE.patience)
    assert listed(status) == {"first": 1}
    assert status["reload"]["failures"] == 3 * RELOADS
    # Groups and lists were added, so memory may have grown; nothing else may.
    flat(used, files.compiler.usage()._replace(memory=used.memory))
    await check(bench, files.compiler, BASE.patience)


async def _load(tenants: Tenants) -> None:
    """Changes, whole requests at a time, until the rounds are over."""
    while True:
        with anyio.CancelScope(shield=True):
            await offer(tenants, _LOAD)
        await anyio.lowlevel.checkpoint()


async def _round(files: Files) -> None:
    """Wrong and right, map and configuration."""
    files.map.write_text(UNKNOWN)
    await files.rejected("unknown kind 'security_groups'")
    await files.taken(WITHOUT_GROUPS)
    files.map.write_text(TORN)
    await files.rejected("reactions.yml:")
    files.configuration.write_text("intentc: {settinks: {}}\n")
    await files.rejected("settinks")
    files.configuration.write_bytes(_with(files.right, settings={}))
    await files.taken(TO_NETWORKS)
    files.configuration.write_bytes(files.right)
    files.map.write_text(SHIPPED)
    assert (await files.reload(times=3))["last_error"] is None


def _with(configuration: bytes, **own: Any) -> bytes:
    content = msgspec.json.decode(configuration)
    return msgspec.json.encode({**content, "intentc": {**content["intentc"], **own}})


async def test_f23_a_reload_evaluates_only_affected_intents_again(bench: ProcessSystem) -> None:
    _, files = await crowd(bench)

    async def evaluations() -> int:
        return int((await files.compiler.quiet(bench.world.revision, BASE.patience))["counters"]["evaluations"])

    before = await evaluations()
    files.map.write_text(UNKNOWN)
    await files.rejected("unknown kind")
    await files.taken(SHIPPED)
    await files.taken(WITHOUT_GROUPS)
    assert await evaluations() == before, "nobody: nothing was added"

    networks = len((await bench.world.stored())["virtual_network"])
    await files.taken(TO_NETWORKS)

    async def looked_over() -> bool:
        return await evaluations() >= before + networks + BASE.groups

    await reached(looked_over)
    # TO_NETWORKS also brings back the reaction among groups.
    groups = len((await bench.world.stored())["security_group"])
    assert await evaluations() == before + networks + groups
    await check(bench, files.compiler, BASE.patience)


async def test_f23_a_removed_reaction_is_reported_until_it_is_restored(bench: ProcessSystem) -> None:
    tenants, files = await crowd(bench)

    async def missing(name: str) -> dict[str, int]:
        """What is missing once a group has come that another one named before."""
        await tenants.sync([tenants.group(f"names-{name}", rules(rule(str(uuid.uuid4()), group(name), LOCAL)))])
        await files.compiler.quiet(bench.world.revision, BASE.patience)
        await tenants.sync([tenants.group(name, rules())])
        status = await files.compiler.quiet(bench.world.revision, BASE.patience)
        return dict(status["counters"]["missing_reactions"])

    await files.taken(WITHOUT_GROUPS)
    assert await missing("first") == {"security_group <- security_group": 1}
    await files.taken(SHIPPED)
    assert await missing("second") == {}
    await check(bench, files.compiler, BASE.patience)

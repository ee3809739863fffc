"""A system to ask: etcd, API server and compiler as processes, a tenant of some size, and a person with commands."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec

from intentc.dev.etcd_server import Etcd
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc
from intentc.plugins import installed
from intentc.watch.etcd import EtcdStore
from tests.faults.load import Tenants
from tests.faults.process_system import ProcessSystem, running_bench
from tests.support.commands import PROGRAM, ROOT, Ended
from tests.support.contrail_content import EVERYWHERE, LOCAL, group, rule, rules
from tests.support.live_system import PROJECT
from tests.support.processes import Process, environment_with

SEED = 20261122
_WITHIN_SECONDS = 600.0


class QuestionedSystem:
    """``tenants``: what is there. ``took``: question → seconds that its command took, the start of Python included."""

    def __init__(self, bench: ProcessSystem, tenants: Tenants, compiler: Process, address: str) -> None:
        self.bench = bench
        self.world = bench.world
        self.tenants = tenants
        self.compiler = compiler
        self.took: dict[str, float] = {}
        settings = bench.settings | {"intentc": bench.settings["intentc"] | {"diagnostics": {"address": address}}}
        self._configuration = bench.folder / "person.yml"
        self._configuration.write_bytes(msgspec.json.encode(settings))

    async def ask(self, question: str, *arguments: str, code: int = 0) -> Any:
        """Run a command with ``-o json``; what it printed. It must end with ``code``."""
        began = time.monotonic()
        ended = await self.run(*arguments, "-o", "json")
        self.took[question] = time.monotonic() - began
        assert ended.code == code, f"intentc {' '.join(arguments)}: {ended.code}\n{ended.err}\n{ended.out[-2000:]}"
        return ended.json

    async def run(self, *arguments: str) -> Ended:
        with anyio.fail_after(_WITHIN_SECONDS):
            done = await anyio.run_process(
                [*PROGRAM, "--config-file", str(self._configuration), *arguments],
                check=False,
                cwd=ROOT,
                env=environment_with({}),
            )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    async def settled(self) -> dict[str, Any]:
        return await self.compiler.quiet(self.world.revision, _WITHIN_SECONDS)

    async def resource(self, kind: str, *fq_name: str) -> dict[str, Any]:
        """As it lies in etcd."""
        for found in (await self.world.stored())[kind].values():
            if tuple(found["fq_name"]) == fq_name:
                return dict(found)
        raise LookupError(f"there is no {kind} {':'.join(fq_name)}")


@asynccontextmanager
async def running_questioned_system(
    etcd: Etcd, store: EtcdStore, folder: Path, groups: int, networks: int
) -> AsyncIterator[QuestionedSystem]:
    """A converged system. Besides ``groups`` that name each other at random there are ``web``, which lets ``db`` in by
    its second rule, and ``db``; each of ``networks`` has an interface, every twentieth a router over twenty of them."""
    loaded = installed(Configuration(intentc=Intentc(compilers=("contrail",))))
    async with running_bench(store, [etcd.endpoint], loaded, folder) as bench:
        tenants = Tenants(bench.world, random.Random(SEED))
        await tenants.populate(groups, networks)
        own = tenants.group("db", {}), tenants.group("web", _web(tenants))
        await tenants.sync(own[:1])
        await tenants.sync(own[1:])
        compiler = bench.start()
        address = (await compiler.url()).removeprefix("http://")
        system = QuestionedSystem(bench, tenants, compiler, address)
        await system.settled()
        yield system


WEB_RULES = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
WEB, DATABASE = (*PROJECT, "web"), (*PROJECT, "db")


def _web(tenants: Tenants) -> dict[str, Any]:
    return rules(rule(WEB_RULES[0], EVERYWHERE, LOCAL, protocol="6"), rule(WEB_RULES[1], group("db"), LOCAL))


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""A world of very many resources in an engine in memory, at rest, without a server: for what every answer costs there.

Most are ports, of which nothing follows and whose references lead nowhere; the others are security groups with the
lists that were made of them, as after a restart on a converged world.
"""

from __future__ import annotations

import os

import msgspec

from intentc.engine.engine import Engine
from intentc.loading.configuration import Configuration
from intentc.model import Change, Snapshot
from intentc.offline.offline import Offline
from intentc.plugins import installed
from tests.perf import made

FULL = os.environ.get("INTENTC_BROWSER") == "full"
"""The long form of these tests: 100,000 resources here, 10,000 in a real system."""
REVISION = 5


def snapshot(groups: int, ports: int, *, lists: bool) -> Snapshot:
    """So many groups, each with its two ``lists``, so many ports, and their project."""
    stored = [made.project(), *map(made.one_kilobyte, range(ports))]
    for place in range(groups):
        stored += [made.security_group(place), *(_lists(place) if lists else ())]
    return Snapshot(REVISION, tuple(_change(*entry) for entry in stored))


async def at_rest(groups: int, ports: int, *, lists: bool = True) -> Engine:
    """An engine that has compiled them; it only observes, and so every second list stays planned: its rules differ."""
    offline = Offline(installed(Configuration()), installation=made.INSTALLATION, observe=True)
    engine = offline.engine
    await engine.load_allocations()
    await engine.step([snapshot(groups, ports, lists=lists)])
    while await engine.step([]):
        pass
    return engine


def _lists(place: int) -> list[tuple[str, bytes]]:
    """The two lists of a group as they lie in etcd."""
    return [
        (made.value_key(item["kind"], item["data"]["uuid"]), msgspec.json.encode(item["data"]))
        for item in made.list_items(place)
    ]


def _change(key: str, value: bytes) -> Change:
    kind, uuid = key.split("/")[2:]
    return Change(kind, uuid, value, REVISION, REVISION)

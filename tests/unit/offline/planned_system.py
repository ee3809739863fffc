"""A memory system over which plans are made as ``intentc plan`` makes them; its API server draws uuids at random.

Use it to compare a plan with what really happens: ``happened`` gives the differences in the form of a plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from intentc import Compiler
from intentc.apiserver.admission.well_known import ADDRESS_POOLS
from intentc.apiserver.app import create_app
from intentc.apiserver.sources import RandomSource
from intentc.cli.api_client import ApiClient, Touching
from intentc.cli.live_plan import carry_out, resources_of
from intentc.inspection.differences import differences
from intentc.model import Key
from intentc.offline.offline import PATH
from intentc.offline.preview import Plan, Trial, gather, plan
from intentc.offline.preview.report import Change, Input, Text
from intentc.plugins import find_compilers, load_all
from intentc.watch.protocol import prefix_end
from intentc.writing.connection import Connection, in_process
from tests.support.memory_system import MemorySystem

SECURITY_GROUP_OFFSET = 8_000_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAC = re.compile(r"02(?::[0-9a-f]{2}){5}")
_LARGE = re.compile(r"(?<!\d)80\d{5}(?!\d)")
"""The numbers of route targets and of security groups."""
_OF_USERS = ("security_group_id", "segmentation_id")
"""Fields with small numbers that users give, and that no pool has: as such they may equal a pool's."""
_PLACEHOLDER = re.compile(r"<(uuid|address)[^>]*>")

World = dict[str, bytes]
Reported = dict[tuple[str, str], Any]
"""(kind, name) → the action, and field → (before, after)."""


def texts(*contents: str, delete: bool = False) -> Input:
    return Input(texts=tuple(Text(f"<{n}>", content) for n, content in enumerate(contents)), delete=delete)


class PlannedSystem(MemorySystem):
    """``compilers``: themselves, or by name. ``loaded``: what they bring."""

    def __init__(self, *compilers: str | Compiler) -> None:
        found = (find_compilers([one]) if isinstance(one, str) else [one] for one in compilers)
        super().__init__(load_all(compiler for several in found for compiler in several), choices=RandomSource())

    async def plan(self, given: Input, salt: str = "", settings: Mapping[str, Any] | None = None) -> Plan:
        """``settings``: of the compilers, as the plan's configuration has them."""
        gathered = await gather(self.store, self.offline.local, self.loaded.schema, path=PATH, installation="default")
        resources = resources_of(given, self.loaded.schema) if given.texts else []
        text = "".join(text.text for text in given.texts)
        trial = Trial(self.loaded, gathered, installation="default", settings=settings, text=text)

        async def work(connection: Connection) -> set[Key]:
            client = Touching(connection)
            if resources or given.kind:
                await carry_out(client, given, resources, self.loaded.schema)
            return client.touched

        return await plan(trial, work, salt=salt)

    async def apply(self, given: Input) -> None:
        resources = [] if given.kind else resources_of(given, self.loaded.schema)
        async with ApiClient(in_process(create_app(self.offline.server))) as client:
            await carry_out(client, given, resources, self.loaded.schema)
        await self.settle()

    async def world(self, prefix: str = f"/{PATH}/") -> World:
        """Key → value."""
        return {item.key: item.value for item in (await self.store.range(prefix, prefix_end(prefix))).items}

    async def everything(self) -> World:
        """All there is in the store, numbers included."""
        return await self.world("/")

    async def numbers(self) -> dict[str, str]:
        """Pool and number → owner, without addresses: a plan shows those in their resources only."""
        prefix = f"/intentc/apiserver/{PATH}/pool-value/"
        found = {key.removeprefix(prefix): value.decode() for key, value in (await self.world(prefix)).items()}
        return {place: owner for place, owner in found.items() if not place.startswith(ADDRESS_POOLS)}

    async def happened(self, before: World, numbers: dict[str, str], planned: Plan) -> Reported:
        """Return what differs now in the form of a plan: placeholders stand for what only the server can choose."""
        after, given = await self.world(), await self.numbers()
        known = b"\0".join(before.values()).decode() + json.dumps(planned.document())
        old_text = b"\0".join(before.values()).decode()
        names = {
            uuid: _UUID.sub(lambda match: match[0] if match[0] in old_text else "UUID", name)
            for uuid, name in (await self._names(after)).items()
        }
        fresh: dict[int, str] = {}
        for place, owner in given.items():
            if place not in numbers:
                pool, _, number = place.partition("/")
                uuid = owner.split("/")[1] if "/" in owner else owner
                offset = SECURITY_GROUP_OFFSET if pool == "security_group_id" else 0
                fresh[int(number) + offset] = f"<{pool} for {names[uuid]}>"
        found: Reported = {}
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                kind = self.loaded.schema.kind(key.split("/")[2])
                old, new = (json.loads(values[key]) if key in values else None for values in (before, after))
                fields = {
                    _translated(field.field, fresh, known): (
                        _translated(field.before, fresh, known),
                        _translated(field.after, fresh, known, field.field),
                    )
                    for field in differences(kind, old, new)
                }
                action = "create" if old is None else "delete" if new is None else "update"
                name = _translated(":".join((new or old or {})["fq_name"]), fresh, known)
                if action != "update" or fields:
                    other, others = found.get((kind.name, name), ("", {}))
                    kept = others if action == "delete" else fields
                    found[kind.name, name] = ("replace" if {action, other} == {"create", "delete"} else action, kept)
        return found

    async def _names(self, world: World) -> dict[str, str]:
        return {key.rsplit("/", 1)[1]: ":".join(json.loads(value)["fq_name"]) for key, value in world.items()}


def changes_of(planned: Plan) -> Reported:
    """The plan in the same form, both sides together: what the input takes away and what follows adds again is no
    change."""
    found: Reported = {}
    for change in (*planned.applied, *planned.follows):
        name = _plain(change.name)
        action, former = found.get((change.kind, name), (change.action, {}))
        if (action, change.action) == ("delete", "create"):
            action, former = "replace", {}
        fields = _fields(change, former)
        undone = {field for field in former.keys() & fields if fields[field][0] == fields[field][1]}
        joined = {field: pair for field, pair in (former | fields).items() if field not in undone}
        found[change.kind, name] = (action, joined)
        if undone and not joined and action == "update":
            del found[change.kind, name]
    return found


def _fields(change: Change, former: dict[str, Any]) -> dict[str, Any]:
    return {
        _plain(field.field): (
            former[_plain(field.field)][0] if _plain(field.field) in former else _plain(field.before),
            _plain(field.after),
        )
        for field in change.fields
    }


def _plain(value: Any) -> Any:
    """Whose uuid it is, the real system can't be asked."""
    return json.loads(_PLACEHOLDER.sub(r"<\1>", json.dumps(value)))


def _translated(value: Any, fresh: dict[int, str], known: str, field: str = "") -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        small = field.endswith("_id") and not field.endswith(_OF_USERS)
        is_number = value in fresh and (small or value >= SECURITY_GROUP_OFFSET)
        return fresh[value] if is_number else value
    if isinstance(value, str):
        return _text(value, fresh, known)
    if isinstance(value, dict):
        return {_text(name, fresh, known): _translated(inner, fresh, known) for name, inner in value.items()}
    return [_translated(inner, fresh, known) for inner in value]


def _text(text: str, fresh: dict[int, str], known: str) -> str:
    text = _UUID.sub(lambda match: match[0] if match[0] in known else "<uuid>", text)
    text = _MAC.sub(lambda match: match[0] if match[0] in known else "<address>", text)
    return _LARGE.sub(lambda match: fresh.get(int(match[0]), match[0]), text)


def uuids_in(values: Iterable[Any]) -> set[str]:
    return set(_UUID.findall(json.dumps(list(values))))

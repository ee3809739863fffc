"""The shipped contrail compiler over memory: for stories about what users write and what follows from it.

Users go through the API server (``create``, ``change``, ``remove``); ``put`` writes to the store past it, as a broken
client or a restore would. What is done between ``stop`` and ``restart`` no engine sees as it happens.
"""

from __future__ import annotations

from typing import Any

import msgspec

from intentc.model import MARK_KEY, Key, Name
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import prefix_end
from tests.oracle import contrail_chains
from tests.oracle.contrail import World, actual, expected
from tests.support.memory_system import PREFIX, Document, MemorySystem


class ContrailSystem(MemorySystem):
    """``loaded``: another compiler and its kinds. ``write.calls``: what was asked for since the last ``forget``."""

    def __init__(self, loaded: Loaded | None = None, store: MemoryStore | None = None) -> None:
        super().__init__(loaded or load_all(find_compilers(["contrail"])), store=store)
        self.stopped = False

    async def begin(self) -> ContrailSystem:
        """Write the seeds, and create the project ``blue``."""
        await self.offline.seed()
        await self.create("project", "blue")
        return self

    async def create(self, kind: str, name: str, *, settle: bool = True, **fields: Any) -> str:
        """Create one resource (``name``: below the default domain); its uuid."""
        return (await self.transact(("CREATE", kind, name, fields), settle=settle))[0]

    async def change(self, kind: str, name: str, **fields: Any) -> None:
        await self.transact(("UPDATE", kind, name, fields))

    async def remove(self, kind: str, name: str) -> None:
        await self.transact(("DELETE", kind, name, {}))

    async def transact(self, *changes: tuple[str, str, str, Document], settle: bool = True) -> list[str]:
        """(operation, kind, name, fields) in one transaction; the uuids, empty for what was deleted."""
        elements: list[Document] = []
        for operation, kind, name, fields in changes:
            data: Document = dict(fields)
            if operation == "CREATE":
                data |= {"fq_name": fq_name(name)}
            else:
                data["uuid"] = await self.offline.server.identify(kind, fq_name(name))
            elements.append({"kind": kind, "operation": operation, "data": data})
        await self.offline.server.sync(elements)
        uuids = [
            "" if operation == "DELETE" else await self.offline.server.identify(kind, fq_name(name))
            for operation, kind, name, _ in changes
        ]
        if settle:
            await self.settle()
        return uuids

    async def settle(self) -> None:
        if not self.stopped:
            await super().settle()

    def stop(self) -> None:
        """From now on nobody compiles."""
        self.stopped = True

    async def restart(self) -> ContrailSystem:
        """Another engine over the same store."""
        system = ContrailSystem(self.loaded, self.store)
        await system.settle()
        return system

    def forget(self) -> None:
        """Count calls from now on."""
        for calls in (self.write.written, self.write.granted, self.write.freed):
            calls.clear()

    async def stored(self, kind: str) -> dict[str, Document]:
        """What lies in the store: fq_name joined by ``:`` → value. Values that can't be read are left out."""
        prefix = f"{PREFIX}{kind}/"
        found = {}
        for item in (await self.store.range(prefix, prefix_end(prefix))).items:
            try:
                document = msgspec.json.decode(item.value)
            except msgspec.DecodeError:
                continue
            found[":".join(document["fq_name"])] = document
        return found

    async def revision(self, key: Key) -> int:
        """At which an object was written last; 0 if it is absent."""
        items = (await self.store.range(f"{PREFIX}{key.kind}/{key.uuid}")).items
        return items[0].mod_revision if items else 0

    async def owned(self) -> list[Key]:
        """All objects that carry our mark."""
        found = []
        for item in (await self.store.range(PREFIX, prefix_end(PREFIX))).items:
            document = msgspec.json.decode(item.value)
            pairs = document.get("annotations", {}).get("key_value_pair", [])
            if any(pair["key"] == MARK_KEY for pair in pairs):
                found.append(Key(*item.key.split("/")[2:]))
        return found

    async def lists(self, group: str) -> dict[str, list[Document]]:
        """The rules of a group's two lists: ``ingress`` and ``egress`` → match conditions, as far as they are there."""
        found = {}
        for name, document in (await self.stored("access_control_list")).items():
            above, _, last = name.rpartition(":")
            if above == ":".join(fq_name(group)):
                rules = (document.get("access_control_list_entries") or {}).get("acl_rule") or []
                found[last.partition("-")[0]] = [rule["match_condition"] for rule in rules]
        return found

    async def targets(self, kind: str, name: str) -> dict[str, str]:
        """The route targets that an object refers to → import_export."""
        document = (await self.stored(kind))[":".join(fq_name(name))]
        return {
            entry["to"][0]: (entry.get("attr") or {}).get("import_export", "")
            for entry in document.get("route_target_refs") or ()
        }

    async def numbers(self) -> dict[str, int]:
        """Origin's uuid → number."""
        allocations = await self.offline.local.all_allocations("default/")
        return {owner.split("/")[1]: value for _, owner, value in allocations}

    @property
    def problems(self) -> dict[str, str]:
        """reason → message."""
        return {problem.reason: problem.message for problem in self.offline.problems()}

    def named(self, kind: str, name: str) -> Key | None:
        """Which object the engine takes for the one of this name."""
        found = Name(kind, tuple(fq_name(name)))
        return self.engine.world.named(found.kind, found.fq_name)

    async def world(self) -> World:
        """Everything in the store: kind → uuid → resource."""
        found: World = {}
        for item in (await self.store.range(PREFIX, prefix_end(PREFIX))).items:
            kind, uuid = item.key.removeprefix(PREFIX).split("/")
            found.setdefault(kind, {})[uuid] = msgspec.json.decode(item.value)
        return found

    async def check(self) -> None:
        """What is there is what the naive oracle expects; each number has one owner, and that lives."""
        world = await self.world()
        allocations = await self.offline.local.all_allocations("default/")
        numbers = {owner: value for _, owner, value in allocations}
        assert actual(world) == expected(world, numbers)
        owners = ("routing_instance", "logical_router", "bgp_as_a_service")
        living = {uuid for kind in owners for uuid in world.get(kind, {})}
        vlans = {owner for owner in numbers if "/vlan." in owner}
        assert vlans == contrail_chains.vlan_owners(world)
        assert {owner.split("/")[1] for owner in numbers.keys() - vlans} <= living
        assert len({(pool, value) for pool, _, value in allocations}) == len(allocations) == len(numbers)


def fq_name(name: str) -> list[str]:
    """``blue:web`` → below the default domain; what begins with ``target:`` stands alone."""
    return [name] if name.startswith("target:") else ["default-domain", *name.split(":")]


def rule(src: str, dst: str, **fields: Any) -> Document:
    """A rule of a group from ``src`` to ``dst``: ``local``, ``all``, or a group's name in ``blue``."""
    ports = [{"start_port": 0, "end_port": 65535}]
    return {
        "direction": ">",
        "ethertype": "IPv4",
        "protocol": "any",
        "src_addresses": [_address(src)],
        "dst_addresses": [_address(dst)],
        "src_ports": ports,
        "dst_ports": ports,
        **fields,
    }


def rules(*entries: Document) -> Document:
    """The rules as the field of a group."""
    return {"policy_rule": list(entries)}


def _address(text: str) -> Document:
    if text == "all":
        return {"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 0}}
    return {"security_group": text if text == "local" else f"default-domain:blue:{text}"}

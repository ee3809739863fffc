"""A world for scenarios: store, API server and engine in memory; what users do, what others do behind our backs, and
what comes of it.

Users go through the API server (``apply``, ``change``, ``remove``); ``put`` writes to the store past it, as a broken
client or a restore would; what is done between ``stop`` and ``restart`` no engine sees as it happens.
"""

from __future__ import annotations

from typing import Any

import msgspec

from intentc.model import MARK_KEY, Key, Name
from intentc.offline.offline import Offline
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.testing.recording import Acknowledging, Recording
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put, prefix_end

Document = dict[str, Any]


class MemorySystem:
    """One life of an engine. ``calls``: what it asked the server to change since the last ``forget``."""

    def __init__(self, plugins: Loaded | None = None, store: MemoryStore | None = None) -> None:
        self.plugins = plugins or load_all(find_compilers(["contrail"]))
        self.calls = Recording(Acknowledging())
        self.offline = Offline(self.plugins, write=self.calls, store=store)
        self.calls.target = self.offline.local
        self.running = True

    async def begin(self) -> MemorySystem:
        """Seeds, and the project ``blue``."""
        await self.offline.seed()
        await self.apply("project", "blue")
        return self

    async def apply(self, kind: str, name: str, **fields: Any) -> str:
        """Create one resource (``name``: below the default domain); its uuid."""
        return (await self.transact(("CREATE", kind, name, fields)))[0]

    async def change(self, kind: str, name: str, **fields: Any) -> None:
        await self.transact(("UPDATE", kind, name, fields))

    async def remove(self, kind: str, name: str) -> None:
        await self.transact(("DELETE", kind, name, {}))

    async def transact(self, *changes: tuple[str, str, str, Document]) -> list[str]:
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
        await self.settle()
        return uuids

    async def put(self, key: Key, value: bytes | Document | None) -> None:
        """Write to the store past the server; None deletes."""
        where = f"/contrail/{key.kind}/{key.uuid}"
        raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
        await self.offline.store.transaction((), [Delete(where) if value is None else Put(where, raw)])
        await self.settle()

    async def settle(self) -> None:
        if self.running:
            await self.offline.settle()

    def stop(self) -> None:
        """From now on nobody compiles."""
        self.running = False

    async def restart(self) -> MemorySystem:
        """Another engine over the same store."""
        scene = MemorySystem(self.plugins, self.offline.store)
        await scene.settle()
        return scene

    def forget(self) -> None:
        """Count calls from now on."""
        for calls in (self.calls.written, self.calls.granted, self.calls.freed):
            calls.clear()

    async def stored(self, kind: str) -> dict[str, Document]:
        """What lies in the store: fq_name joined by ``:`` → value. Values that can't be read are left out."""
        prefix = f"/contrail/{kind}/"
        found = {}
        for item in (await self.offline.store.range(prefix, prefix_end(prefix))).items:
            try:
                document = msgspec.json.decode(item.value)
            except msgspec.DecodeError:
                continue
            found[":".join(document["fq_name"])] = document
        return found

    async def revision(self, key: Key) -> int:
        """At which an object was written last; 0 if it is absent."""
        items = (await self.offline.store.range(f"/contrail/{key.kind}/{key.uuid}")).items
        return items[0].mod_revision if items else 0

    async def owned(self) -> list[Key]:
        """All objects that carry our mark."""
        found = []
        for item in (await self.offline.store.range("/contrail/", "/contrail0")).items:
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
        """The ledger: origin's uuid → number."""
        ledger = await self.offline.local.all_allocations("default/")
        return {owner.split("/")[1]: value for _, owner, value in ledger}

    @property
    def problems(self) -> dict[str, str]:
        """reason → message."""
        return {problem.reason: problem.message for problem in self.offline.problems()}

    def named(self, kind: str, name: str) -> Key | None:
        """Which object the engine takes for the one of this name."""
        found = Name(kind, tuple(fq_name(name)))
        return self.offline.engine.parts.logic.named(found.kind, found.fq_name)


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

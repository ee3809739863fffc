"""A Kubernetes cluster in memory that carries out manifests, with the bridge that writes to it.

Authors test with it in which order objects are created and deleted, and what an intent makes of their status;
``intentc dev`` runs it in place of a cluster. Each step is the bridge's next act (a write, its answer, or both),
decided by the functions that the real bridge uses (``intentc.outgoing``), or what a cluster's controllers do next, such
as: a Deployment becomes available, a Service gets an address, a deleted object disappears. The order of steps is fixed.
Tests hold objects back, reject them, or change them like users.

The bridge reads manifests (kind ``manifest``) from the engine of a ``Host``, and writes what became of their objects
(kind ``observed``) through the host's API server. ``bridges/kubernetes`` is the real one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from intentc.model import Resource
from intentc.outgoing import (
    FINALIZER,
    MANIFEST,
    OBSERVED,
    Step,
    Wanted,
    differences,
    next_step,
    observed_fields,
    wanted_of,
)

if TYPE_CHECKING:
    from intentc.engine.engine import Engine

_NOW = "2026-01-01T00:00:00Z"
_IMMUTABLE = {"Job": ("template",), "Deployment": ("selector",), "DaemonSet": ("selector",)}
"""Kind → the fields of ``spec`` that a cluster does not let anybody change."""

Body = dict[str, Any]


class Server(Protocol):
    """An API server, in this process or behind a client."""

    async def sync(self, elements: Any) -> object:
        """Carry out changes in one transaction, as `/sync` does."""
        ...


class Host(Protocol):
    """A system whose manifests the cluster carries out: an ``Offline``, or what ``intentc dev`` runs."""

    @property
    def engine(self) -> Engine: ...

    @property
    def server(self) -> Server: ...

    @property
    def installation(self) -> str: ...


class Place(NamedTuple):
    """An object of a cluster, whatever its version."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Place:
        metadata = body["metadata"]
        return cls(body["kind"], metadata["name"], metadata.get("namespace", ""))


class _Read(NamedTuple):
    """A manifest: its JSON, its phase, and what it wants."""

    raw: bytes
    phase: int
    wanted: Wanted


class FakeCluster:
    """Pass it to ``service_for(…, cluster=FakeCluster())``. ``log``: what happened to objects, in order, such as
    ``create Deployment shop/web``."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._objects: dict[Place, Body] = {}
        self._applied: dict[Place, Body] = {}
        """What the bridge wrote last, as the cluster's managedFields have it."""
        self._held_back: set[Place] = set()
        self._rejections: dict[Place, str] = {}
        self._made = 0
        self._read: dict[tuple[str, ...], _Read] = {}
        """The manifests as they were last read, by fq_name."""
        self._carried_out: dict[Place, tuple[Wanted, bytes]] = {}
        """What a manifest wanted of an object, and the answer to it (JSON), when nothing was left to do. Whoever
        changes the object, or what the cluster does to it, removes the entry."""

    # What tests ask and do

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects that exist, such as ``Deployment shop/web``, sorted."""
        return tuple(sorted(map(str, self._objects)))

    def get(self, kind: str, name: str, namespace: str = "") -> Body | None:
        """A copy of an object as the cluster has it; None if it is absent."""
        return copy.deepcopy(self._objects.get(Place(kind, name, namespace)))

    def hold_back(self, kind: str, name: str, namespace: str = "") -> None:
        """Let the cluster's controllers leave an object alone: it does not become ready, and does not disappear."""
        self._held_back.add(Place(kind, name, namespace))

    def let_go(self, kind: str, name: str, namespace: str = "") -> None:
        """End ``hold_back`` or ``reject``."""
        self._held_back.discard(Place(kind, name, namespace))
        self._rejections.pop(Place(kind, name, namespace), None)
        self._carried_out.pop(Place(kind, name, namespace), None)

    def reject(self, kind: str, name: str, namespace: str = "", *, words: str) -> None:
        """Reject each write of an object with these words."""
        self._rejections[Place(kind, name, namespace)] = words
        self._carried_out.pop(Place(kind, name, namespace), None)

    def set_status(self, kind: str, name: str, namespace: str = "", **status: Any) -> None:
        """Replace fields of an object's ``status``."""
        body = self._objects[Place(kind, name, namespace)]
        body["status"] = {**body.get("status", {}), **status}
        self._carried_out.pop(Place(kind, name, namespace), None)

    def put(self, body: Mapping[str, Any]) -> None:
        """Write an object as somebody else does: create it, or replace its fields."""
        place = Place.of(body)
        former = self._objects.get(place, {"metadata": {"uid": self._uid()}})
        written = _merged(former, {}, body)
        self._objects[place] = written
        self._carried_out.pop(place, None)

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        """Remove an object at once, as somebody else does, or its time to live."""
        place = Place(kind, name, namespace)
        del self._objects[place]
        self._applied.pop(place, None)
        self._carried_out.pop(place, None)

    # What the service calls

    async def step(self, host: Host) -> bool:
        """Take one step: of the bridge if it has one, otherwise of the cluster's controllers. False if nothing is left
        to do."""
        return await self.carry_out(host) or self.progress()

    async def carry_out(self, host: Host) -> bool:
        """One act of the bridge: a write to the cluster, an answer to the store, or both. False if none is due."""
        wanted = [self._wanted(host, resource) for resource in _resources(host, MANIFEST)]
        # Deletions first, the highest phase before the others; then in ascending phase.
        wanted.sort(key=lambda one: (not one[1].is_ending, -one[0] if one[1].is_ending else one[0], one[2].fq_name))
        for _, manifest, resource in wanted:
            if await self._carry_out_one(host, manifest, resource):
                return True
        return await self._forget_answers(host, {resource.fq_name for _, _, resource in wanted})

    def progress(self) -> bool:
        """One step of the cluster's own controllers. False if all objects are as they will be."""
        for place in sorted(self._objects):
            body = self._objects[place]
            if place in self._held_back:
                continue
            if body["metadata"].get("deletionTimestamp"):
                self._disappear(place)
                return True
            status = {**body.get("status", {}), **self._settled(place, body)}
            if status != body.get("status", {}):
                body["status"] = status
                self._carried_out.pop(place, None)
                return True
        return False

    def _wanted(self, host: Host, resource: Resource) -> tuple[int, Wanted, Resource]:
        read = self._read.get(resource.fq_name)
        if read is None or read.raw != resource.raw or read.wanted.installation != host.installation:
            fields = msgspec.json.decode(resource.raw)
            read = _Read(resource.raw, int(fields.get("phase") or 0), wanted_of(fields, host.installation))
            self._read[resource.fq_name] = read
        return read.phase, read.wanted, resource

    async def _carry_out_one(self, host: Host, wanted: Wanted, resource: Resource) -> bool:
        place = Place.of(wanted.body)
        answer = _answer(host, resource.fq_name)
        done = self._carried_out.get(place)
        if done is not None and answer is not None and done[0] is wanted and done[1] == answer.raw:
            return False
        live = self._objects.get(place)
        seen = msgspec.json.decode(answer.raw) if answer is not None else None
        if live is None and seen is None and wanted.adopted_only and place not in self._held_back:
            live = self._objects[place] = self._found(wanted)
        step, rejected = next_step(wanted, live, seen), ""
        acted = True
        match step:
            case Step.RELEASE:
                await self._release(host, resource, answer)
                return True
            case Step.APPLY if words := self._rejection(place, wanted):
                rejected, acted = words, False
            case Step.APPLY:
                self._apply(place, wanted)
            case Step.DELETE:
                self._delete(place)
            case Step.TAKEN:
                rejected, acted = f"{place} was made by somebody else; rename or delete it", False
            case _:
                acted = False
        found = observed_fields(wanted, self._objects.get(place), seen, rejected)
        if await self._answer(host, resource, answer, found) or acted:
            return True
        if answer is not None:
            self._carried_out[place] = wanted, answer.raw
        return False

    def _found(self, wanted: Wanted) -> Body:
        """An object that others make (a Job, say), as they left it: it is there when it is first looked for."""
        identity = {part: wanted.body[part] for part in ("apiVersion", "kind")}
        metadata = {part: wanted.body["metadata"][part] for part in ("name", "namespace")}
        return {**identity, "metadata": {**metadata, "labels": dict(wanted.adopts), "uid": self._uid()}}

    def _rejection(self, place: Place, wanted: Wanted) -> str:
        """The words with which the cluster rejects this write; empty if it takes it."""
        if place in self._rejections:
            return self._rejections[place]
        live = self._objects.get(place)
        for field in _IMMUTABLE.get(place.kind, ()) if live is not None else ():
            spec, stored = wanted.body.get("spec", {}), (live or {}).get("spec", {})
            if field in spec and differences(spec[field], stored.get(field)):
                return f"{place} is invalid: spec.{field}: field is immutable"
        return ""

    def _apply(self, place: Place, wanted: Wanted) -> None:
        live = self._objects.get(place)
        self.log.append(f"{'create' if live is None else 'update'} {place}")
        former = live or {"metadata": {"uid": self._uid(), "creationTimestamp": _NOW}}
        self._objects[place] = _merged(former, self._applied.get(place, {}), wanted.body)
        self._applied[place] = copy.deepcopy(dict(wanted.body))
        self._carried_out.pop(place, None)

    def _delete(self, place: Place) -> None:
        self.log.append(f"delete {place}")
        self._objects[place]["metadata"]["deletionTimestamp"] = _NOW
        self._carried_out.pop(place, None)

    def _disappear(self, place: Place) -> None:
        self.log.append(f"gone {place}")
        del self._objects[place]
        self._applied.pop(place, None)
        self._carried_out.pop(place, None)

    def _uid(self) -> str:
        self._made += 1
        return f"uid-{self._made}"

    def _settled(self, place: Place, body: Body) -> Body:
        """The status to which the cluster's controllers bring an object."""
        spec = body.get("spec", {})
        match place.kind:
            case "Deployment":
                count = spec.get("replicas", 1)
                counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
                return {**counts, "conditions": [{"type": "Available", "status": "True"}]}
            case "DaemonSet":
                return {"desiredNumberScheduled": 1, "numberReady": 1, "numberAvailable": 1}
            case "Job":
                if any(one["type"] == "Failed" for one in body.get("status", {}).get("conditions", ())):
                    return {}
                return {"conditions": [{"type": "Complete", "status": "True"}]}
            case "Service" if spec.get("type") == "LoadBalancer":
                number = sum(other.kind == "Service" for other in sorted(self._objects) if other <= place)
                return {"loadBalancer": {"ingress": [{"ip": f"192.0.2.{number}"}]}}
        return {}

    async def _release(self, host: Host, manifest: Resource, answer: Resource | None) -> None:
        metadata = msgspec.json.decode(manifest.raw)["metadata"]
        left = [name for name in metadata.get("finalizers", ()) if name != FINALIZER]
        data = {"uuid": manifest.key.uuid, "metadata": {"finalizers": left}}
        entries: list[Body] = [
            {"kind": MANIFEST, "operation": "UPDATE", "data": data, "field_mask": {"paths": ["metadata.finalizers"]}}
        ]
        if answer is not None:
            entries.append({"kind": OBSERVED, "operation": "DELETE", "data": {"uuid": answer.key.uuid}})
        await host.server.sync(entries)
        read = self._read.pop(manifest.fq_name, None)
        if read is not None:
            self._carried_out.pop(Place.of(read.wanted.body), None)

    async def _answer(self, host: Host, manifest: Resource, answer: Resource | None, found: Body) -> bool:
        """Write what was observed, if it differs from what is stored."""
        data = {"fq_name": list(manifest.fq_name), **found}
        if answer is None:
            await host.server.sync([{"kind": OBSERVED, "operation": "CREATE", "data": data}])
            return True
        fields = answer.kind.properties
        stored = {field: value for field, value in msgspec.json.decode(answer.raw).items() if field in fields}
        if stored == found:
            return False
        data = {"uuid": answer.key.uuid, **dict.fromkeys(fields), **found}
        await host.server.sync([{"kind": OBSERVED, "operation": "UPDATE", "data": data}])
        return True

    async def _forget_answers(self, host: Host, manifests: set[tuple[str, ...]]) -> bool:
        """Delete an answer whose manifest is gone."""
        for resource in _resources(host, OBSERVED):
            if resource.fq_name not in manifests:
                entry = {"kind": OBSERVED, "operation": "DELETE", "data": {"uuid": resource.key.uuid}}
                await host.server.sync([entry])
                return True
        return False


def _resources(host: Host, kind: str) -> Iterator[Resource]:
    world = host.engine.world
    for key in world.select(kind, "all", ""):
        if (resource := world.cache.shown(key)) is not None:
            yield resource


def _answer(host: Host, fq_name: tuple[str, ...]) -> Resource | None:
    world = host.engine.world
    key = world.named(OBSERVED, fq_name)
    return world.cache.shown(key) if key is not None else None


def _merged(live: Any, former: Any, wanted: Any) -> Any:
    """``live`` after ``wanted`` is applied over what was applied ``former``-ly: fields of others stay."""
    if not isinstance(wanted, Mapping) or not isinstance(live, Mapping):
        return copy.deepcopy(wanted)
    former = former if isinstance(former, Mapping) else {}
    kept = {field: value for field, value in live.items() if field in wanted or field not in former}
    return kept | {
        field: _merged(live[field], former.get(field), value) if field in live else copy.deepcopy(value)
        for field, value in wanted.items()
    }

"""A world of the gateway compiler over memory, with a cluster that carries out what it makes.

``said`` shortens a status to what cases are about: a condition becomes ``True/Accepted``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from intentc.plugins import find_compilers, load_all
from intentc.testing import FakeCluster, service_for

Document = Mapping[str, Any]

KINDS = {
    ("gateway.networking.k8s.io", "GatewayClass"): "gateway_class",
    ("gateway.networking.k8s.io", "Gateway"): "gateway",
    ("networking.x-k8s.io", "GatewayClass"): "gateway_class_v1alpha1",
    ("networking.x-k8s.io", "Gateway"): "gateway_v1alpha1",
    ("operator.projectcontour.io", "Contour"): "contour",
}
"""Group and kind of a manifest → the kind that has a status."""


class World:
    """``cluster`` has the objects that were made, and its log."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.cluster = FakeCluster()
        self.service = service_for("gateway", cluster=self.cluster, settings=settings)

    async def create(self, *documents: Document) -> None:
        await self.service.create(*map(dict, documents))

    async def update(self, *documents: Document) -> None:
        await self.service.update(*map(dict, documents))

    async def delete(self, *documents: Document) -> None:
        await self.service.delete(*map(dict, documents))

    async def reload(self, settings: Mapping[str, Any]) -> None:
        """Use other settings from now on, as after a changed configuration."""
        reactions = load_all(find_compilers(["gateway"])).reactions
        self.service.offline.engine.reload(reactions, settings, (), other_edges=False)
        await self.settle()

    async def settle(self) -> None:
        await self.service.settle()

    def said(self, title: str) -> dict[str, Any]:
        """The status of ``kind namespace:name``, shortened."""
        kind, _, name = title.partition(" ")
        return said(self.service.status(kind, name.split(":")))

    def status(self, title: str) -> dict[str, Any]:
        kind, _, name = title.partition(" ")
        return self.service.status(kind, name.split(":"))

    def exists(self, kind: str, *fq_name: str) -> bool:
        """Whether a resource is stored."""
        return self.service.offline.engine.world.named(kind, fq_name) is not None

    def finalizers(self, kind: str, *fq_name: str) -> tuple[str, ...]:
        """The finalizers of a stored resource."""
        world = self.service.offline.engine.world
        key = world.named(kind, fq_name)
        assert key is not None, f"there is no {kind} {fq_name}"
        resource = world.cache.shown(key)
        assert resource is not None
        return tuple(resource.values().metadata.finalizers)

    @property
    def problems(self) -> list[str]:
        return sorted({f"{problem.kind} {problem.name} {problem.reason}" for problem in self.service.problems})

    @property
    def objects(self) -> tuple[str, ...]:
        return self.cluster.objects

    def ports(self, service: str) -> dict[str, int]:
        """The ports of a Service, ``namespace/name``."""
        namespace, _, name = service.partition("/")
        found = self.cluster.get("Service", name, namespace)
        assert found is not None, f"there is no Service {service}"
        return {port["name"]: port["port"] for port in found["spec"]["ports"]}


def said(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status, shortened."""
    shown: dict[str, Any] = {**status, **_conditions(status)}
    shown.pop("conditions", None)
    if "listeners" in status:
        shown["listeners"] = {
            one.get("name") or f"{one['protocol']}-{one['port']}-{place}".lower(): {
                **_conditions(one),
                **({"kinds": [kind["kind"] for kind in one.get("supportedKinds", ())]} if "name" in one else {}),
                **({"attached": one["attachedRoutes"]} if one.get("attachedRoutes") else {}),
            }
            for place, one in enumerate(status["listeners"])
        }
    if "addresses" in status:
        shown["addresses"] = [one["value"] for one in status["addresses"]]
    return shown


def _conditions(holder: Mapping[str, Any]) -> dict[str, str]:
    found: Iterable[Mapping[str, Any]] = holder.get("conditions", ())
    return {one["type"]: f"{one['status']}/{one['reason']}" for one in found}

"""What the person does to a fault bench that compiles Ambassador's kinds, and what must be there afterwards.

As ``load.py`` for Contrail: a population, and changes of it, through the API server in ``/sync`` requests.
"""

from __future__ import annotations

import random
import uuid as uuid_module
from collections.abc import Iterable
from typing import Any

from tests.faults.load import Change
from tests.property.gateway_demands import elements_in, from_nothing, written
from tests.support.live_system import LiveSystem

_AT_ONCE = 40


class GatewayWorld(LiveSystem):
    """The oracle is a compile of the users' manifests from nothing."""

    made = "envoy_route"

    async def assert_compiled(self) -> None:
        stored = await self.stored()
        found = {(k, *one["fq_name"]): written(one) for k, ones in elements_in(stored).items() for one in ones}
        wanted = (await from_nothing(stored)).elements
        differing = {name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)}
        assert not differing, {name: (found.get(name), wanted.get(name)) for name in sorted(differing)[:3]}


class Gateway:
    """A Listener, Hosts with and without selectors, and Mappings two of which share each prefix; name → uuid."""

    def __init__(self, world: LiveSystem, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.mappings: dict[str, str] = {}
        self._made = 0

    async def populate(self, mappings: int, hosts: int) -> None:
        """Create so many, with the Services and Endpoints behind them."""
        binding = {"namespace": {"from": "ALL"}}
        listener = {"port": 8080, "protocol": "HTTP", "securityModel": "XFP", "hostBinding": binding}
        changes = [self._created("listener", "front", listener)]
        for number in range(hosts):
            selector = {"mappingSelector": {"matchLabels": {"team": "red"}}} if number % 2 else {}
            changes.append(self._created("host", f"host-{number}", {"hostname": f"h{number}.example", **selector}))
        for number in range(5):
            address = {"ip": f"10.0.0.{number + 1}"}
            subset = {"addresses": [address], "ports": [{"port": 8080}]}
            changes.append(self._created("service", f"service-{number}", {"ports": [{"port": 80}]}))
            changes.append(self._created("endpoints", f"service-{number}", {"subsets": [subset]}))
        changes += [self._mapping(f"mapping-{number}", f"/{number // 2}/") for number in range(mappings)]
        await self.sync(changes)

    async def sync(self, changes: Iterable[Change]) -> None:
        left = list(changes)
        for first in range(0, len(left), _AT_ONCE):
            await self.world.sync(*left[first : first + _AT_ONCE])

    def rewritten(self, name: str) -> Change:
        """A Mapping that is there leads elsewhere, in another part."""
        return "UPDATE", "mapping", {"uuid": self.mappings[name], **self._target()}

    def removed(self, names: Iterable[str]) -> list[Change]:
        """Mappings go."""
        return [("DELETE", "mapping", {"uuid": self.mappings.pop(name)}) for name in names]

    def extra(self) -> list[Change]:
        """Two Mappings of one group, and a Host."""
        self._made += 1
        prefix, name = f"/extra-{self._made}/", f"extra-{self._made}"
        return [
            self._mapping(name, prefix),
            self._mapping(f"{name}-canary", prefix),
            self._created("host", name, {"hostname": f"{name}.example"}),
        ]

    def _mapping(self, name: str, prefix: str) -> Change:
        labels = {"metadata": {"labels": {"team": "red"}}} if self.chance.random() < 0.3 else {}
        change = self._created("mapping", name, {"prefix": prefix, "hostname": "*", **labels, **self._target()})
        self.mappings[name] = change[2]["uuid"]
        return change

    def _target(self) -> dict[str, Any]:
        resolver = self.chance.choice(["", "endpoint"])
        service = f"service-{self.chance.randrange(5)}"
        return {"service": service, "resolver": resolver, "weight": self.chance.randrange(50)}

    def _created(self, kind: str, name: str, fields: dict[str, Any]) -> Change:
        uuid = str(uuid_module.UUID(int=self.chance.getrandbits(128), version=4))
        return "CREATE", kind, {"uuid": uuid, "fq_name": ["default", name], **fields}

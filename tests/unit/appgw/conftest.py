"""A compiler of Application Gateways over memory, and its outputs by kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from intentc.testing import service_for
from tests.support.appgw.manifests import Manifest, gateway


class Compiled:
    """One compiler with its world in memory."""

    def __init__(self, **settings: Any) -> None:
        self.service = service_for("appgw", settings={f"appgw.{name}": value for name, value in settings.items()})

    async def given(self, *manifests: Manifest, **of_gateway: Any) -> Compiled:
        """The world with these manifests and a gateway."""
        await self.service.create(gateway(**of_gateway), *manifests)
        return self

    def all(self, kind: str) -> list[dict[str, Any]]:
        """The objects of a kind, by name."""
        return [one for one in self.service.offline.outputs() if one["kind"] == f"appgw_{kind}"]

    def contents(self, kind: str) -> dict[str, Any]:
        """Name → properties, of the sub-resources of a kind."""
        return {one["fq_name"][0]: one["config"].get("properties", {}) for one in self.all(kind)}

    def listener(self, host: str, protocol: str = "Http") -> dict[str, Any] | None:
        """The properties of the listener of a host name (empty for all names)."""
        found = [
            one
            for one in self.contents("listener").values()
            if (host in one["hostNames"] if host else not one["hostNames"]) and one["protocol"] == protocol
        ]
        return found[0] if found else None

    def sites(self) -> list[str]:
        """Protocol, port and names of each listener."""
        return sorted(
            f"{one['protocol']} {one['frontendPort']['id'].rpartition('-')[2]} {' '.join(one['hostNames'])}".strip()
            for one in self.contents("listener").values()
        )

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(the Ingress, the reason), each once, sorted."""
        return sorted({(problem.name, problem.reason) for problem in self.service.problems})


@pytest.fixture
def compiled() -> Iterator[type[Compiled]]:
    yield Compiled

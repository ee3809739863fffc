"""Mappings compiled together with a Host and a Listener that serve everything, and the routes that follow from them.

Each route is read as Envoy reads it (``ParseDict`` rejects what ``envoy.config.route.v3.Route`` does not know),
whatever the test asks of it.
"""

from __future__ import annotations

from typing import Any

import envoy.extensions.filters.http.cors.v3.cors_pb2
import envoy.extensions.filters.http.ext_authz.v3.ext_authz_pb2  # noqa: F401 - json_format finds them by their names
from envoy.config.route.v3.route_components_pb2 import Route
from google.protobuf.json_format import ParseDict

from tests.support.ambassador.hosts import MemoryGateway, host, listener, manifest, route

_ANY = ["_automatic_"]
EVERYTHING = (host("all", "*", requestPolicy=route("Route"), ambassador_id=_ANY), listener(ambassador_id=_ANY))


def mapping(name: str, namespace: str = "shop", version: str = "v3alpha1", **spec: Any) -> dict[str, Any]:
    """A Mapping of every hostname, unless it names one (``hostname=None``: none at all)."""
    given: dict[str, Any] = {"prefix": f"/{name}/", "service": "echo", "hostname": "*", **spec}
    given = {field: value for field, value in given.items() if value is not None}
    return {**manifest("Mapping", name, given, namespace), "apiVersion": f"getambassador.io/{version}"}


class Routes:
    """The result of compiling Mappings: ``elements`` in the order in which Envoy matches them."""

    def __init__(self, gate: MemoryGateway) -> None:
        self.gate = gate

    @property
    def elements(self) -> list[dict[str, Any]]:
        found = self.gate.elements("envoy_route").values()
        return sorted(found, key=lambda element: str(element["sort_key"]), reverse=True)

    @property
    def configs(self) -> list[dict[str, Any]]:
        configs = [element["config"] for element in self.elements]
        for config in configs:
            ParseDict(config, Route())
        return configs

    @property
    def only(self) -> dict[str, Any]:
        (config,) = self.configs
        return config

    @property
    def paths(self) -> list[str]:
        """What the routes match, in Envoy's order."""
        matches = [config["match"] for config in self.configs]
        return [m.get("prefix") or m.get("path") or m["safe_regex"]["regex"] for m in matches]

    def problems(self) -> list[tuple[str, str]]:
        """(name of the Mapping, reason), without those of other kinds."""
        return sorted((p.name, p.reason) for p in self.gate.service.problems if p.kind == "mapping")

    def message(self) -> str:
        (message,) = [p.message for p in self.gate.service.problems if p.kind == "mapping"]
        return message


async def routes(*resources: dict[str, Any], settings: dict[str, Any] | None = None) -> Routes:
    return Routes(await MemoryGateway(settings).apply(*EVERYTHING, *resources))


def module(**config: Any) -> dict[str, Any]:
    return manifest("Module", "ambassador", {"config": config}, "ambassador")


def upstreams(config: dict[str, Any]) -> dict[str, int]:
    """Readable start of a cluster's name (``cluster_<host>_<port>``) → weight; of a plain route 100."""
    action = config["route"]
    if "cluster" in action:
        return {action["cluster"].rpartition("-")[0]: 100}
    return {each["name"].rpartition("-")[0]: each["weight"] for each in action["weighted_clusters"]["clusters"]}

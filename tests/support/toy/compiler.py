"""The toy compiler: gateways serve the routes that their globs cover, from the addresses that selectors choose.

The addresses behind a service are a fact: many routes may lead to one service, and its pods are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from intentc import Claim, Compiler, Context, Fact, Intent

_HERE = Path(__file__).parent


class PodIntent(Intent):
    kind = "toy_pod"


class RouteIntent(Intent):
    kind = "toy_route"


class ServiceIntent(Intent):
    kind = "toy_service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        addresses = tuple(pod.address for pod in self.references("pods"))
        yield Fact("toy_cluster", ":".join(self.fq_name), addresses)


class GatewayIntent(Intent):
    kind = "toy_gateway"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        served = []
        for route in self.references("served"):
            for service in route.references("service"):
                addresses = ctx.fact("toy_cluster", ":".join(service.fq_name)) or ()
                served.append({"hostname": route.hostname, "prefix": route.match.prefix, "addresses": list(addresses)})
        yield self.owned("toy_listener", ("-".join(self.fq_name),), port=self.port, routes=served)


compiler = Compiler(
    "toy",
    [GatewayIntent, PodIntent, RouteIntent, ServiceIntent],
    schema_directories=[_HERE / "schemas"],
    reactions=_HERE / "reactions.yml",
)

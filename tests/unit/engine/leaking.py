"""A compiler whose author copies a secret, over a fact, into a field of an object that nobody declared sensitive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from intentc import Claim, Compiler, Context, Fact, Intent

TOY = Path(__file__).parents[2] / "support" / "toy"
ROUTE = """
apiVersion: toy.intentc.io/v1
kind: ToyRoute
metadata: {name: web, namespace: n}
spec: {hostname: a.example.org, match: {prefix: /}, token: TOKEN}
"""
GATEWAY = """
apiVersion: toy.intentc.io/v1
kind: ToyGateway
metadata: {name: g, namespace: n}
spec: {port: PORT}
"""
LISTENER = "n-g"


def route(token: str) -> str:
    return ROUTE.replace("TOKEN", token)


def gateway(port: int = 80) -> str:
    return GATEWAY.replace("PORT", str(port))


class RouteIntent(Intent):
    kind = "toy_route"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield Fact("toy_cluster", ":".join(self.fq_name), f"Bearer {self.token}")


class GatewayIntent(Intent):
    kind = "toy_gateway"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        served = []
        for found in self.references("served"):
            leaked = ctx.fact("toy_cluster", ":".join(found.fq_name))
            served.append({"hostname": found.hostname, "prefix": "/", "addresses": [str(leaked or "")]})
        yield self.owned("toy_listener", ("-".join(self.fq_name),), port=self.port, routes=served)


class ServiceIntent(Intent):
    kind = "toy_service"


class PodIntent(Intent):
    kind = "toy_pod"


compiler = Compiler(
    "toy",
    [RouteIntent, GatewayIntent, ServiceIntent, PodIntent],
    schema_directories=[TOY / "schemas"],
    reactions=TOY / "reactions.yml",
)

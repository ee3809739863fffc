"""A service instance: the static routes that lead to it (docs/contrail.md D.9). What chains make of it is the business
of ``service_chain.py``."""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .service_routes import leading_routes


class ServiceInstanceIntent(Intent):
    kind = "service_instance"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from leading_routes(self, ctx)

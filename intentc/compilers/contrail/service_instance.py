"""A service instance: the static routes that lead to it (docs/contrail.md D.9), the policy that it may have (D.8.6),
its addresses (D.8.9), and the machines of one of version 1 (D.8.10). What chains make of it is the business of
``service_chain.py``.

It reads, reports problems and gives reasons through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .automatic_policy import automatic_policy_facts
from .service_addresses import service_addresses
from .service_machines import service_machines
from .service_routes import leading_routes


class ServiceInstanceIntent(Intent):
    kind = "service_instance"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from leading_routes(self, ctx)
        yield from automatic_policy_facts(self, ctx)
        yield from service_addresses(self, ctx)
        yield from service_machines(self, ctx)

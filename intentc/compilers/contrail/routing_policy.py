"""A routing policy of a service instance refers to the routing instances of the chains that lead through the service
(docs/contrail.md D.10). The references to primary ones follow from networks.

It reads and gives reasons through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, Name, Source, refer

from .service_chain import STANDING
from .service_chain_names import ServiceChain


class RoutingPolicyIntent(Intent):
    kind = "routing_policy"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for service, attribute in self.reference_attributes("service_instance"):
            name = ":".join(service.fq_name)
            named = Source.of(self, f"service_instance_refs[{name}]")
            for _, (key, instances, _, reasons) in ctx.contributions(STANDING, name):
                chain = ServiceChain(*key)
                for network, sequence in (
                    (chain.left, attribute.left_sequence),
                    (chain.right, attribute.right_sequence),
                ):
                    instance = chain.routing_instance(network, name)
                    if sequence and instance in instances:
                        claim = refer(self, Name("routing_instance", tuple(instance.split(":"))), sequence=sequence)
                        for reason in reasons if ctx.explaining else ():
                            ctx.because(claim, *(Source(*source) for source in reason), named)
                        yield claim

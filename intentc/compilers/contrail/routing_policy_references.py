"""The routing policies that a network attaches refer to its primary routing instance (docs/contrail.md D.10).

The sequence of the network's reference, which decides the order among policies, is copied. The references of policies
to the instances of services are the chains' business.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Claim, Context, Source, View, refer


def routing_policy_references(network: View, instance: View | None, ctx: Context) -> Iterator[Claim]:
    """A reference from each routing policy of ``network`` to ``instance``, its primary one."""
    if instance is None:
        return
    for policy, attribute in network.reference_attributes("routing_policy"):
        reference = refer(policy, instance, sequence=attribute.sequence)
        ctx.because(reference, Source.of(network, f"routing_policy_refs[{':'.join(policy.fq_name)}]"))
        yield reference

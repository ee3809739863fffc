"""Claims the objects of an instance in the cluster (docs/gateway.md §8).

``children`` says what they are; here they become claims of an intent. Envoy's former workload stays while the other
one that replaces it is not available yet.

It reads what was observed through ``ctx``; no state.
"""

from __future__ import annotations

from intentc import Context, Intent, ResourceClaim

from .children import Child, children, envoy_workload, former_envoy_workload
from .instance import Instance

Object = tuple[Child, ResourceClaim]


def objects_of(intent: Intent, ctx: Context, instance: Instance) -> tuple[Object, ...]:
    """The objects of an instance, in the order of their phases, and the claims of ``intent`` that they exist."""
    made = [*children(instance)]
    if instance.layout == "provisioner":
        former = former_envoy_workload(instance)
        if former is not None and _is_needed(intent, ctx, instance, former):
            made.append(former)
    return tuple((child, claim_of(intent, instance, child)) for child in made)


def claim_of(intent: Intent, instance: Instance, child: Child) -> ResourceClaim:
    """The claim that one object exists."""
    kept = child.manifest["kind"] == "Namespace" and instance.keeps_namespace
    return intent.manifest(
        child.manifest, phase=int(child.phase), immutable=child.immutable, once=child.once, kept=kept
    )


def _is_needed(intent: Intent, ctx: Context, instance: Instance, former: Child) -> bool:
    """Whether Envoys run in the former workload, and not yet in the one that replaces it."""
    running = ctx.observed(claim_of(intent, instance, former))
    if running is None or running.gone or running.taken:
        return False
    replacing = ctx.observed(claim_of(intent, instance, envoy_workload(instance)))
    return replacing is None or not replacing.available

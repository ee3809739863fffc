"""The one instance of a namespace in layout O: the objects of whoever holds the namespace (docs/gateway.md §7, §10).

It is an intent of its own while any Contour or Gateway of v1alpha1 is a candidate for it, and the objects are its
own: when the next candidate takes over, labels and configuration change, and nothing ends. What the instance follows
from keeps its finalizers until the last object is gone. ``holder`` decides who holds the namespace; the candidates
themselves report what became of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from intentc import Claim, Context, Fact, Intent

from .children.child import Phase
from .contenders import Candidate, contest, holder, keeping, names_wanted, objects_of, objects_of_any, of_holder
from .gateways import explain_instance
from .instance import Instance


class ContourInstanceIntent(Intent):
    kind = "contour_instance"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        held_by = holder(value for _, value in ctx.contributions(self.kind, self.uuid))
        if held_by is None:
            return
        if held_by.is_ending:
            left = self._left(ctx)
            if left:
                yield from self._finalizers(ctx, held_by)
            if left - {Phase.NAMESPACE}:
                yield from self._namespace(ctx, held_by.instance)
            return
        if held_by.instance is None:
            if self._left(ctx):
                ctx.hold(f"{held_by.title} can't be used now: {held_by.fault}. What runs for it goes on as it is")
            return
        yield from self._finalizers(ctx, held_by)
        own, wanted = of_holder(held_by, self.uuid.partition("/")[2]), objects_of(self, ctx, held_by.instance)
        yield from names_wanted(own, wanted)
        made, _ = contest(ctx, own, wanted)
        yield from (claim for _, claim in made)
        if not held_by.instance.makes_namespace:
            # A former holder made it, and this one lives in it.
            kept = msgspec.structs.replace(held_by.instance, makes_namespace=True, keeps_namespace=True)
            yield from self._namespace(ctx, kept)
        explain_instance(ctx, held_by, made)

    def _finalizers(self, ctx: Context, held_by: Candidate) -> Iterator[Claim]:
        named = ((held_by.kind, held_by.namespace, held_by.name), held_by.parameters, held_by.gateway_class)
        yield from keeping(*(ctx.find(name[0], name[1:]) for name in named if name))

    def _left(self, ctx: Context) -> set[Phase]:
        """The phases of which an object of the instance is left: its manifest stays until a bridge has seen that it is
        gone. What another instance has by now does not count, and what one is about to take over does."""
        objects = objects_of_any(self, ctx, "operator", self.uuid.partition("/")[2])
        return {child.phase for child, claim in objects if ctx.is_made(claim)}

    def _namespace(self, ctx: Context, instance: Instance | None) -> Iterator[Claim]:
        """The namespace, if this instance made it. Whether it is ``kept`` must be known before it is deleted: holders
        and Gateways in it come and go."""
        if instance is not None:
            for child, claim in objects_of(self, ctx, instance):
                if child.phase is Phase.NAMESPACE and ctx.is_made(claim):
                    yield claim

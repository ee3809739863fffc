"""Decides which of several instances has an object whose name they all want (docs/gateway.md §12).

Names follow fixed rules, since what the operator and the provisioner made has them. So those of two instances may meet:
Gateways ``a-b/c`` and ``a/b-c`` want one ClusterRole, ``x`` and ``certgen-x`` one ServiceAccount. The oldest owner has
the object, and the others say so. Who made it does not count, so restarts and the order of arrival change nothing.
The instance of a namespace all of whose candidates are being deleted wants no names: the next contender takes its
objects over.

It reads facts through ``ctx``, and yields facts; no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from intentc import Context, Fact, View

from .holder import Candidate
from .objects import Object


class Contender(msgspec.Struct, frozen=True, order=True):
    """Whoever an instance belongs to; the first in order has what several want. ``kind``: ``Gateway`` or ``Contour``.
    ``place``: the namespace of an instance of layout O, which may change hands; empty for layout P. ``wanted``: the
    kinds of the objects of one name."""

    created: str
    namespace: str
    name: str
    kind: Literal["Contour", "Gateway"]
    place: str = ""
    wanted: tuple[str, ...] = ()

    def is_same(self, other: Contender) -> bool:
        """Whether both are about one instance."""
        if self.place or other.place:
            return self.place == other.place
        return (self.namespace, self.name) == (other.namespace, other.name)


class Contest(NamedTuple):
    """``made``: the objects that the instance has. ``lost``: those that others have, for people."""

    made: tuple[Object, ...]
    lost: tuple[str, ...]


def of_gateway(gateway: View) -> Contender:
    """A Gateway of version 1, an instance of its own."""
    namespace, name = gateway.fq_name
    return Contender(gateway.metadata.creationTimestamp, namespace, name, "Gateway")


def of_holder(held_by: Candidate, namespace: str) -> Contender:
    """Who holds the instance of ``namespace``."""
    kind: Literal["Contour", "Gateway"] = "Contour" if held_by.kind == "contour" else "Gateway"
    return Contender(held_by.created, held_by.namespace, held_by.name, kind, namespace)


def names_wanted(own: Contender, objects: Iterable[Object]) -> Iterator[Fact]:
    """The names that an instance wants, so that others know of it."""
    wanted: dict[str, list[str]] = {}
    for child, _ in objects:
        wanted.setdefault(child.place, []).append(child.manifest["kind"])
    for place, kinds in wanted.items():
        yield Fact("object_name", place, msgspec.structs.replace(own, wanted=tuple(sorted(kinds))))


def contest(ctx: Context, own: Contender, objects: Iterable[Object], *, gives_way: bool = False) -> Contest:
    """Which of its objects an instance has. ``gives_way``: it wants none of them any more, or can't make them now; it
    has only those that nobody else wants, however old its owner is, and has lost none."""
    others: dict[str, list[Contender]] = {}
    made: list[Object] = []
    lost: list[str] = []
    for one in objects:
        place, kind = one[0].place, one[0].manifest["kind"]
        if place not in others:
            found = (value for _, value in ctx.contributions("object_name", place))
            others[place] = sorted(value for value in found if not value.is_same(own) and (gives_way or value < own))
        winner = next((other for other in others[place] if kind in other.wanted), None)
        if winner is None:
            made.append(one)
        elif not gives_way:
            lost.append(f"{kind} {place.rpartition('/')[2]} (of {winner.kind} {winner.namespace}/{winner.name})")
    return Contest(tuple(made), tuple(lost))

"""Decides which Contour or Gateway holds the one instance of a namespace (layout O; docs/gateway.md §7).

Each candidate yields a ``Candidate`` to the instance of its namespace, an intent of its own; that makes the objects,
and whoever holds it may change without any object ending.

Values and pure functions: no state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from .instance import Instance


class Candidate(msgspec.Struct, frozen=True):
    """``kind``: ``contour`` or ``gateway_v1alpha1``. ``created``: RFC 3339. ``instance``: what it wants, None while
    that can't be made; ``fault`` says why. Of a Contour that is being deleted it is right about the Namespace, even if
    there is a ``fault``. ``counts``: it may hold the namespace; one that does not only keeps what runs for it.
    ``is_ending``: it is being deleted. ``parameters``, ``gateway_class``: (kind, elements of the name …) of what the
    instance follows from, which must not be removed before it."""

    kind: Literal["contour", "gateway_v1alpha1"]
    namespace: str
    name: str
    created: str = ""
    instance: Instance | None = None
    fault: str = ""
    counts: bool = True
    is_ending: bool = False
    parameters: tuple[str, ...] = ()
    gateway_class: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """For people: ``Contour shop/web``."""
        return f"{'Contour' if self.kind == 'contour' else 'Gateway'} {self.namespace}/{self.name}"


def instance_name(namespace: str) -> str:
    """The name of the fact to which the candidates of a namespace contribute."""
    return f"contour/{namespace}"


def holder(candidates: Iterable[Candidate]) -> Candidate | None:
    """Who holds the namespace: the oldest candidate that is not being deleted; of those of one second the first by
    namespace and name. Else one that keeps what runs, else the last to be deleted; None without any."""
    ranked = sorted(candidates, key=_rank)
    return ranked[0] if ranked else None


def _rank(candidate: Candidate) -> tuple[bool, bool, str, str, str, str]:
    return (
        candidate.is_ending,
        not candidate.counts,
        candidate.created,
        candidate.namespace,
        candidate.name,
        candidate.kind,
    )

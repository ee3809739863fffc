"""Which Ingresses this gateway serves, and what of the gateway others have reserved (docs/appgw.md §3, §10).

It reads through ``ctx``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from intentc import Context, View

from .paths import CATCH_ALL, covers
from .settings import Settings

_ANNOTATION = "kubernetes.io/ingress.class"
_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


class Target(NamedTuple):
    """What is reserved: the ``paths`` of ``hostname`` (lower case); without either, all."""

    hostname: str
    paths: tuple[str, ...]

    def covers(self, host: str, patterns: Iterable[str]) -> bool:
        """Whether all that ``patterns`` match is reserved, under the name ``host`` of a site."""
        if self.hostname and self.hostname != host:
            return False
        return all(any(covers(path, pattern) for path in self.paths or CATCH_ALL) for pattern in patterns)


def is_served(ingress: View, ctx: Context, config: Settings) -> bool:
    """Whether the Ingress belongs to this gateway, by its namespace and its class."""
    if config.namespaces and ingress.fq_name[0] not in config.namespaces:
        return False
    if annotation := ingress.metadata.annotations.get(_ANNOTATION, ""):
        return bool(annotation == config.annotation)
    if not config.with_classes:
        return False
    name = ingress.ingressClassName
    if name and name != config.class_name:
        return False
    ours = ctx.find("ingress_class", (config.class_name,))
    is_ours = bool(ours is not None and ours.controller == config.controller)
    if name:
        return is_ours
    if config.is_default:
        return True
    return ours is not None and is_ours and ours.metadata.annotations.get(_DEFAULT, "") == "true"


def prohibited_targets(ctx: Context) -> tuple[Target, ...]:
    """All that is reserved, sorted."""
    found = ctx.all("azure_ingress_prohibited_target")
    return tuple(sorted(Target(one.hostname.lower(), tuple(one.paths)) for one in found))

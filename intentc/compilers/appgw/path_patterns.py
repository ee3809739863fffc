"""Paths of an Ingress as patterns of a path map, their order, and what others have reserved of the gateway
(docs/appgw.md §6.7, §8.1, §10); and which Ingresses it serves (§3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from intentc import Context, View

from .settings import Settings

CATCH_ALL = ("", "/", "/*")
_PATTERN = re.compile(r"/[A-Za-z0-9\-._~!$()'+,;=:@/]*\*?", re.ASCII)


class Patterns(msgspec.Struct, frozen=True):
    """What a path matches. ``patterns``: of the gateway, none if it is ``catch_all``; ``by_element``: the first is the
    bare half of a prefix. ``wrong``: why it can't be routed, empty if it can; ``note``: what to know if it can."""

    patterns: tuple[str, ...] = ()
    catch_all: bool = False
    by_element: bool = False
    wrong: str = ""
    note: str = ""


def patterns_of(path: str, path_type: str, *, by_element: bool) -> Patterns:
    """The patterns of a path of an Ingress. ``by_element``: a prefix ends at a slash.

    >>> patterns_of("/cart/", "Prefix", by_element=True).patterns
    ('/cart', '/cart/*')
    """
    if path in CATCH_ALL:
        note = f"path {path!r} with pathType Exact matches every path: the gateway can't match the root alone"
        return Patterns(catch_all=True, note=note if path_type == "Exact" else "")
    if not _PATTERN.fullmatch(path):
        hint = "write it with / at its start, * at its end only, and no other special characters"
        return Patterns(wrong=f"path {path!r} can't be matched; {hint}")
    if path_type == "Exact":
        return Patterns((path[:-1] if path.endswith("*") else path,))
    if path_type != "Prefix" or path.endswith("*"):
        return Patterns((path,))
    if not by_element:
        return Patterns((f"{path}*",))
    bare = path.rstrip("/")
    return Patterns((bare, f"{bare}/*"), by_element=True) if bare else Patterns(catch_all=True)


def rank(patterns: tuple[str, ...]) -> tuple[bool, int]:
    """The place of a path rule among those of a map, lowest first: exact ones, then the longest."""
    lengths = [len(pattern) - 1 for pattern in patterns if pattern.endswith("*")]
    return bool(lengths), -max(lengths or [len(pattern) for pattern in patterns])


def covers(target: str, pattern: str) -> bool:
    """Whether a path of a prohibited target covers all that ``pattern`` matches.

    >>> covers("/cart/*", "/cart/items"), covers("/cart/*", "/cart*"), covers("/cart", "/cart/*")
    (True, False, False)
    """
    target, pattern = target.lower(), pattern.lower()
    if target in CATCH_ALL:
        return True
    if not target.endswith("*"):
        return target == pattern
    tree = target[:-1].rstrip("/")
    return pattern == tree or pattern.startswith(f"{tree}/")


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

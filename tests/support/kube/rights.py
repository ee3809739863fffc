"""Lists the least rights that a bridge needs in a cluster, kind by kind, without wildcards.

The ClusterRoles in ``config/kubernetes`` must permit what the bridge does and nothing else: tests compare them with
this list, and run a bridge with these rights alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from intentc.bridges.kubernetes.rest_mapping import IDENTIFYING_NAMESPACE
from intentc.model import Kind
from intentc.model.manifest import CORE

_READ = ("list", "watch")
_MAKE = ("create", "delete", "get", "list", "patch", "watch")


class Right(NamedTuple):
    """``group``: empty for core kinds; ``resource``: the plural, with ``/status`` for the subresource; ``names``: of
    the objects, empty for all."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()


def rights(mirrored: Iterable[Kind], makes: Iterable[str] = (), holding: Collection[str] = ()) -> frozenset[Right]:
    """What a bridge needs. ``mirrored``: the kinds that it mirrors; ``makes``: those that compilers make, such as
    ``apps/v1/Deployment``; ``holding``: names of mirrored kinds on which compilers claim finalizers."""
    found = {Right("", "namespaces", ("get",), (IDENTIFYING_NAMESPACE,))}
    for kind in mirrored:
        group = "" if kind.manifests.group == CORE else kind.manifests.group
        plural = kind.manifests.plural
        found.add(Right(group, plural, _READ))
        is_claimed = kind.status is not None and not kind.status.is_input
        if is_claimed:
            found.add(Right(group, f"{plural}/status", ("patch",)))
        if kind.name in holding:
            found.add(Right(group, plural, ("get", "patch")))
        elif is_claimed:
            found.add(Right(group, plural, ("get",)))
    made = [one.rsplit("/", 1) for one in makes]
    found |= {Right(version.rpartition("/")[0], _plural(kind), _MAKE) for version, kind in made}
    # On owners, and on what can't be mirrored.
    return frozenset(found | {Right(group, "events", ("create",)) for group in ("", "events.k8s.io")})


def rules_of(found: Iterable[Right]) -> list[dict[str, Any]]:
    """The ``rules`` of a ClusterRole."""
    return [
        {"apiGroups": [one.group], "resources": [one.resource], "verbs": list(one.verbs)}
        | ({"resourceNames": list(one.names)} if one.names else {})
        for one in sorted(found)
    ]


def _plural(kind: str) -> str:
    """The plural of one of Kubernetes' own kinds, as in paths.

    >>> _plural("NetworkPolicy"), _plural("Ingress"), _plural("Deployment")
    ('networkpolicies', 'ingresses', 'deployments')
    """
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"

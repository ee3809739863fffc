"""What the Kubernetes-compatible API offers: each Kubernetes-shaped kind in each of its versions.

Why it exists: discovery, OpenAPI, URLs and errors must name the same groups, versions and resources.
``served_schema`` adds the kinds that clients expect of any server (Lease, Namespace), from the schemas that intentc
brings along.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.loading import did_you_mean, load_schema
from intentc.model import Kind, Schema
from intentc.model.structural_schema import group_and_version

from .fieldsets import Forms, built_in, custom

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""What every offered resource understands."""

_OLD = "extensions"
"""The group that kinds of other groups once had: clients take the first group that has a resource."""
BUILT_IN = frozenset(
    {
        "",
        "apps",
        "autoscaling",
        "batch",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        _OLD,
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
    }
)
"""The groups that kubectl knows by itself: their kinds understand strategic merge patches."""
_NEED_VERSION = frozenset({"Lease", "Service"})
"""Kinds of these groups that a kube-apiserver does not update without a ``resourceVersion``."""
_RETURN_DELETED = frozenset({"Pod", "Service"})


_SHARED = "kubernetes"
_OF_ANY_SERVER = frozenset({"Lease", "Namespace"})
"""Kinds, as manifests spell them, that clients use on any server: namespaces to list, leases to elect a leader."""


def served_schema(schema: Schema) -> Schema:
    """``schema`` with the kinds that clients expect of any server; ``schema`` itself if no kind is written as
    manifests."""
    if not Catalog(schema):
        return schema
    shared = [kind for kind in load_schema(_SHARED) if kind.manifests.kind in _OF_ANY_SERVER]
    return Schema([*schema, *(kind for kind in shared if kind.name not in schema)])


class Offered(NamedTuple):
    """One resource of one version. ``group``: empty for the core group; ``resource``: its name in URLs; ``name``: the
    kind as manifests spell it."""

    kind: Kind
    group: str
    version: str
    resource: str
    name: str
    is_namespaced: bool

    @property
    def api_version(self) -> str:
        """As in a manifest: ``v1``, ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As errors name it: ``mappings.getambassador.io``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def is_built_in(self) -> bool:
        """Whether kubectl knows the kind by itself."""
        return self.group in BUILT_IN

    @property
    def needs_version(self) -> bool:
        """Whether an update needs a ``resourceVersion``, as in a kube-apiserver."""
        return not self.is_built_in or self.name in _NEED_VERSION

    @property
    def returns_deleted(self) -> bool:
        """Whether a deletion is answered with what was deleted, as clients of these kinds expect."""
        return not self.group and self.name in _RETURN_DELETED

    @property
    def is_implied(self) -> bool:
        """Whether its resources need not be created: namespaces."""
        return not self.group and self.name == "Namespace"

    @property
    def has_status(self) -> bool:
        """Whether there is ``/status``."""
        return self.kind.status is not None

    @property
    def forms(self) -> Forms:
        """How its lists are merged."""
        return built_in if self.is_built_in else custom

    @property
    def path(self) -> str:
        """The URL path of all resources, over all namespaces."""
        return f"{group_path(self.group, self.version)}/{self.resource}"


class Catalog:
    """The kinds of ``schema`` that people write as manifests."""

    def __init__(self, schema: Schema) -> None:
        self._groups: dict[str, dict[str, dict[str, Offered]]] = {}
        for kind in schema:
            if not (kind.stored and kind.written_as_manifests):
                continue
            shape = kind.manifests
            for api_version in shape.versions or [shape.preferred]:
                group, version = group_and_version(api_version)
                offered = Offered(kind, group, version, shape.plural, shape.kind, not shape.cluster_scoped)
                self._groups.setdefault(group, {}).setdefault(version, {})[offered.resource] = offered

    def __bool__(self) -> bool:
        return bool(self._groups)

    def groups(self) -> list[str]:
        """The groups besides the core group, in the order in which clients look for a resource."""
        return sorted((group for group in self._groups if group), key=lambda group: (group == _OLD, group))

    def versions(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first; empty for an unknown one."""
        return list(self._groups.get(group, ()))

    def resources(self, group: str, version: str) -> list[Offered]:
        """What is offered in one version, by name."""
        found = self._groups.get(group, {}).get(version, {})
        return [found[name] for name in sorted(found)]

    def every(self) -> list[Offered]:
        """Everything that is offered."""
        return [
            one for group in self._groups for version in self.versions(group) for one in self.resources(group, version)
        ]

    def find(self, group: str, version: str, resource: str) -> Offered | None:
        """The offered resource of a URL."""
        return self._groups.get(group, {}).get(version, {}).get(resource)

    def suggestion(self, group: str, version: str, resource: str) -> str:
        """A hint to append to an error about an unknown resource."""
        return did_you_mean(resource, [one.resource for one in self.resources(group, version)])


def group_path(group: str, version: str) -> str:
    """The URL path of a group's version."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"

"""The kinds on which each verb is tried: custom resources, kinds that kubectl knows, with and without a namespace.

Values, no I/O.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

Manifest = dict[str, Any]


class Sample(NamedTuple):
    """A kind. ``group``: empty for the core group; ``content``: a manifest's own fields; ``change``: a merge patch that
    changes one of them; ``status``: a status, if a client may write one; ``left_out``: cases that are not tried."""

    plural: str
    kind: str
    group: str
    version: str
    content: Manifest
    change: Manifest
    status: Manifest | None = None
    is_namespaced: bool = True
    left_out: tuple[str, ...] = ()

    @property
    def is_custom(self) -> bool:
        """Whether a cluster knows it by a CustomResourceDefinition."""
        return self.group == "getambassador.io"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def everywhere(self) -> str:
        """The URL of all resources of the kind."""
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{self.version}/{self.plural}"

    def url(self, namespace: str) -> str:
        """The URL of the resources in a namespace, if there are namespaces."""
        root, _, plural = self.everywhere().rpartition("/")
        return f"{root}/namespaces/{namespace}/{plural}" if self.is_namespaced else self.everywhere()

    def manifest(self, name: str = "", **metadata: Any) -> Manifest:
        """A new resource."""
        given = {"name": name, **metadata} if name else metadata
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": given,
            **copy.deepcopy(self.content),
        }


SAMPLES = (
    Sample(
        "mappings",
        "Mapping",
        "getambassador.io",
        "v3alpha1",
        {"spec": {"hostname": "*", "prefix": "/a/", "service": "web"}},
        {"spec": {"weight": 5}},
        {"state": "Running"},
    ),
    Sample(
        "services",
        "Service",
        "",
        "v1",
        {"spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}], "type": "ClusterIP"}},
        {"spec": {"selector": {"app": "web"}}},
        {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
        # Version 1.20 deletes Services at once, whatever their finalizers, and has no deletecollection of them.
        left_out=("delete_collection", "finalizers", "propagation"),
    ),
    Sample("secrets", "Secret", "", "v1", {"data": {"a": "Yg=="}, "type": "Opaque"}, {"data": {"b": "Yw=="}}),
    Sample("configmaps", "ConfigMap", "", "v1", {"data": {"a": "b"}}, {"data": {"b": "c"}}),
    Sample(
        "ingresses",
        "Ingress",
        "networking.k8s.io",
        "v1",
        {"spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}},
        {"spec": {"ingressClassName": "ambassador"}},
        {"loadBalancer": {"ingress": [{"hostname": "a.example"}]}},
    ),
    Sample(
        "leases",
        "Lease",
        "coordination.k8s.io",
        "v1",
        {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}},
        {"spec": {"holderIdentity": "b"}},
    ),
    Sample(
        "namespaces",
        "Namespace",
        "",
        "v1",
        {},
        {"metadata": {"labels": {"new": "yes"}}},
        is_namespaced=False,
        # A cluster's namespaces wait for a controller, which the tested one has not.
        left_out=("create", "delete", "delete_collection", "finalizers", "propagation", "strategic_patch", "watch"),
    ),
)

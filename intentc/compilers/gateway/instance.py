"""An instance: all that the objects of one running Contour and its Envoys follow from, complete and checked.

Intents read users' resources, check them, and make an ``Instance``; ``children`` turns it into manifests and asks
nothing else. Two equal instances have the same objects. Defaults are those of an instance of layout O without
parameters (docs/gateway.md §5); in layout P, whose parameters name no load balancer unless they are a Contour, readers
set ``load_balancer`` to None.

Every value is hashable, so that an instance can be the value of a fact: maps are ``Pairs``, and what is passed on
unchanged (resources, volumes, strategies) is ``Json``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Pairs = tuple[tuple[str, str], ...]
"""A map of texts: (key, value), sorted by key."""

Json = str
"""JSON text that is passed on unchanged; empty: not given."""

Layout = Literal["operator", "provisioner"]
"""``operator``: layout O, fixed names, one instance in a namespace. ``provisioner``: layout P, names that end in the
Gateway's name, many in a namespace (docs/gateway.md §1)."""

ServiceType = Literal["LoadBalancerService", "NodePortService", "ClusterIPService"]


class Resource(msgspec.Struct, frozen=True, order=True):
    """The namespace and the name of a user's resource."""

    namespace: str
    name: str


class Images(msgspec.Struct, frozen=True):
    """The container images of an instance, with their tags or digests."""

    contour: str
    envoy: str


class Port(msgspec.Struct, frozen=True, order=True):
    """A port that listeners share. ``traffic``: ``https`` for HTTPS, TLS and projectcontour.io/https."""

    number: int
    traffic: Literal["http", "https", "tcp"]


class Placement(msgspec.Struct, frozen=True):
    """On which nodes pods may run. ``tolerations``: a JSON list."""

    node_selector: Pairs = ()
    tolerations: Json = ""


class ContourPods(msgspec.Struct, frozen=True, kw_only=True):
    """The Deployment of Contour, and what Contour is started with.

    ``strategy``: a DeploymentStrategy, empty: the layout's own. ``resources``: ResourceRequirements. The fields from
    ``strategy`` on, except for ``placement``, exist in layout P only.
    """

    replicas: int = 2
    placement: Placement = Placement()
    strategy: Json = ""
    resources: Json = ""
    log_level: Literal["info", "debug"] = "info"
    kubernetes_log_level: int = 0
    watch_namespaces: tuple[str, ...] = ()
    disabled_features: tuple[str, ...] = ()
    pod_annotations: Pairs = ()


class EnvoyPods(msgspec.Struct, frozen=True, kw_only=True):
    """The DaemonSet or Deployment of Envoy.

    ``http_port``, ``https_port``: of the container (layout O; P has one container port for each listener's).
    ``replicas``: of a Deployment. ``strategy``: a DeploymentStrategy or DaemonSetUpdateStrategy, empty: the layout's
    own. ``extra_volumes``, ``extra_volume_mounts``: JSON lists. ``max_heap``: bytes, ``max_connections``: downstream;
    0: no limit. Fields other than ports and ``placement`` exist in layout P only.
    """

    http_port: int = 8080
    https_port: int = 8443
    workload: Literal["DaemonSet", "Deployment"] = "DaemonSet"
    replicas: int = 2
    placement: Placement = Placement()
    strategy: Json = ""
    resources: Json = ""
    log_level: Literal["trace", "debug", "info", "warn", "error", "critical", "off"] = "info"
    pod_annotations: Pairs = ()
    extra_volumes: Json = ""
    extra_volume_mounts: Json = ""
    base_id: int = 0
    max_heap: int = 0
    max_connections: int = 0


class LoadBalancer(msgspec.Struct, frozen=True, kw_only=True):
    """A cloud's load balancer. ``aws_type`` and ``allocation_ids`` belong to AWS, ``address`` and ``subnet`` to Azure
    and GCP, ``resource_group`` to Azure; what belongs to another provider is empty."""

    scope: Literal["External", "Internal"] = "External"
    provider: Literal["AWS", "Azure", "GCP"] = "AWS"
    aws_type: Literal["Classic", "NLB"] = "Classic"
    allocation_ids: tuple[str, ...] = ()
    address: str = ""
    resource_group: str = ""
    subnet: str = ""


class Publishing(msgspec.Struct, frozen=True, kw_only=True):
    """How clients reach Envoy: the Service.

    ``load_balancer``: None where parameters can't name one (layout P, unless they are a Contour). ``node_ports``:
    (``http`` or ``https``, port) as the parameters give them. ``ip_family_policy``, ``annotations``: layout P only.
    """

    type: ServiceType = "LoadBalancerService"
    load_balancer: LoadBalancer | None = LoadBalancer()
    node_ports: tuple[tuple[str, int], ...] = ()
    external_traffic_policy: Literal["Local", "Cluster"] = "Local"
    ip_family_policy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] = "SingleStack"
    annotations: Pairs = ()


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One running instance.

    ``namespace``: where its namespaced objects are. ``contour``: the Contour that is the instance, or that has its
    parameters; None without one. ``gateway``: the Gateway that is the instance; None for a Contour without class. One
    of the two is set, in layout P always ``gateway``.

    ``ports``: of listeners that are valid and unconflicted, each number once, sorted; empty for a Contour without
    class. ``addresses``: IP addresses that the Gateway requests and that its publishing type can have, at most one for
    a load balancer and one of each family for a ClusterIPService (docs/gateway.md §6).

    ``makes_namespace``: the Namespace is an object of the instance; false if somebody else made it.
    ``keeps_namespace``: it stays when the instance ends. Both concern layout O.

    ``resource_labels``, ``runtime_settings`` (a ContourConfiguration's spec) are a ContourDeployment's;
    ``infrastructure_labels``, ``infrastructure_annotations`` a Gateway's of version 1.
    """

    layout: Layout
    namespace: str
    images: Images
    contour: Resource | None = None
    gateway: Resource | None = None
    ports: tuple[Port, ...] = ()
    addresses: tuple[str, ...] = ()
    ingress_class: str = ""
    contour_pods: ContourPods = ContourPods()
    envoy_pods: EnvoyPods = EnvoyPods()
    publishing: Publishing = Publishing()
    makes_namespace: bool = True
    keeps_namespace: bool = True
    resource_labels: Pairs = ()
    infrastructure_labels: Pairs = ()
    infrastructure_annotations: Pairs = ()
    runtime_settings: Json = ""

"""The compiler of Ambassador gateways: it turns Mappings, Hosts, Listeners and related resources into Envoy elements.

Rules: docs/ambassador.md. Ambassador configuration ⇒ intermediate representation ⇒ Envoy configuration becomes intents
⇒ facts ⇒ objects ``envoy_*``, one per element. ``intentc.bridges.xds`` serves these objects to Envoy. The kinds are
declared in ``config/schemas/ambassador``, the reaction map is ``reactions/ambassador.yml``.

This package holds the intents, mostly in files named after their kinds, and what they share (such as
``this_gateway.py``, and ``http_gateway.py``: what all listeners share). The sub-packages hold the typed values that
intents exchange as facts, and the functions that compute them. From the bottom up: ``settings`` (what users set for the
gateway and its traffic), ``upstreams`` (where requests go, with the resolvers' intents), and ``routing`` (what routes
match and do). ``envoy`` turns these values into Envoy's JSON, ``envoy_elements.py`` into claims. ``views.py`` shows the
result to people, ``reasons`` explains it, and ``envoy_names.py`` maps Envoy's names back to elements.
"""

from intentc import Compiler

from .annotated import ServiceIntent
from .auth_service import AuthServiceIntent
from .envoy_names import ENVOY
from .faults import FaultIntent
from .host import HostIntent
from .hostname import HostnameIntent
from .ingress import IngressIntent
from .listener import ListenerIntent
from .listener_binding import ListenerBindingIntent
from .log_service import LogServiceIntent
from .mapping import MappingIntent
from .mapping_group import MappingGroupIntent
from .module import ModuleIntent
from .rate_limit_service import RateLimitServiceIntent
from .secret import SecretIntent, SecretUseIntent
from .tcp_mapping import TCPMappingIntent
from .tcp_mapping_group import TCPMappingGroupIntent, TCPRouteIntent
from .tls_context import TLSContextIntent
from .tracing_service import TracingServiceIntent
from .upstream_cluster import ClusterIntent
from .upstreams.resolvers import ConsulResolverIntent, KubernetesEndpointResolverIntent, KubernetesServiceResolverIntent
from .views import VIEWS
from .virtual_host import RoutingTableIntent, VirtualHostIntent

compiler = Compiler(
    "ambassador",
    [
        AuthServiceIntent,
        ClusterIntent,
        ConsulResolverIntent,
        FaultIntent,
        HostIntent,
        HostnameIntent,
        IngressIntent,
        KubernetesEndpointResolverIntent,
        KubernetesServiceResolverIntent,
        ListenerBindingIntent,
        ListenerIntent,
        LogServiceIntent,
        MappingGroupIntent,
        MappingIntent,
        ModuleIntent,
        RateLimitServiceIntent,
        RoutingTableIntent,
        SecretIntent,
        SecretUseIntent,
        ServiceIntent,
        TCPMappingGroupIntent,
        TCPMappingIntent,
        TCPRouteIntent,
        TLSContextIntent,
        TracingServiceIntent,
        VirtualHostIntent,
    ],
    needs_synced=[
        "auth_service",
        "consul_resolver",
        "endpoints",
        "host",
        "ingress",
        "ingress_class",
        "kubernetes_endpoint_resolver",
        "kubernetes_service_resolver",
        "listener",
        "log_service",
        "mapping",
        "module",
        "rate_limit_service",
        "secret",
        "service",
        "tcp_mapping",
        "tls_context",
        "tracing_service",
    ],
    views=VIEWS,
    names={"envoy": ENVOY},
    settings=[
        "ambassador.allowed_environment",
        "ambassador.allowed_targets",
        "ambassador.annotations",
        "ambassador.bind_address",
        "ambassador.envoy_log_folders",
        "ambassador.id",
        "ambassador.ingress_keeps_paths",
        "ambassador.ingress_status_service",
        "ambassador.ingress_without_class",
        "ambassador.namespace",
    ],
)
"""The entry point ``ambassador`` of the group ``intentc.compilers``."""

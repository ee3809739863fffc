"""The compiler of Ambassador's gateways: Mappings, Hosts, Listeners and what belongs to them become elements of Envoy.

Rules: docs/ambassador.md. The way is the seed's: Ambassador configuration ⇒
intermediate representation ⇒ Envoy configuration, as intents of resources ⇒ facts ⇒ objects ``envoy_*``, one for each
element, which ``intentc.bridges.xds`` serves to Envoy. The kinds are declared in ``config/schemas/ambassador``, who
wakes whom in ``reactions/ambassador.yml``.

Beside this file stand the intents, one file for each kind, named after it. The typed values that they tell each other,
and the pure functions that make them, are in ``routing`` (what is matched, and what becomes of it), ``upstreams``
(where it goes), ``hosts``, ``tls`` and ``gateway`` (what all listeners share); ``envoy`` turns them into Envoy's JSON,
through ``elements.py``; ``views`` tells people what came out, ``reasons`` why, ``envoy_names.py`` what Envoy calls it.
"""

from intentc import Compiler

from .annotated import ServiceIntent
from .auth_service import AuthServiceIntent
from .cluster import ClusterIntent
from .envoy_names import ENVOY
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
from .resolvers import ConsulResolverIntent, KubernetesEndpointResolverIntent, KubernetesServiceResolverIntent
from .routing_table import RoutingTableIntent
from .secret import SecretIntent, SecretUseIntent
from .tcp_mapping import TCPMappingIntent
from .tcp_mapping_group import TCPMappingGroupIntent
from .tcp_route import TCPRouteIntent
from .tls_context import TLSContextIntent
from .tracing_service import TracingServiceIntent
from .views import VIEWS
from .virtual_host import VirtualHostIntent

compiler = Compiler(
    "ambassador",
    [
        AuthServiceIntent,
        ClusterIntent,
        ConsulResolverIntent,
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
    views=VIEWS,
    names={"envoy": ENVOY},
    settings=[
        "ambassador.allowed_environment",
        "ambassador.allowed_targets",
        "ambassador.annotations",
        "ambassador.bind_address",
        "ambassador.id",
        "ambassador.ingress_keeps_paths",
        "ambassador.ingress_without_class",
        "ambassador.namespace",
    ],
)
"""What the entry point ``ambassador`` of ``intentc.compilers`` leads to."""

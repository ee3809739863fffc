"""The compiler of an Azure Application Gateway: Ingresses become the sub-resources of one gateway (docs/appgw.md).

An Ingress claims sites (names on ports) and asks for backends (``ingress.py``). A backend becomes settings and a probe
(``backend.py``), the addresses behind it a pool (``pool.py``). A site settles what its claims want together
(``site_claims.py``); sites that have everything in common become listeners, with rules and path maps
(``listener_group.py``). What they share is in ``shared_parts.py``, what the gateway has in ``application_gateway.py``.
These are the intents; the other modules hold the values that they exchange as facts, and the functions that compute
them.

Each sub-resource is an object ``appgw_*`` of its own. What depends on all of them, priorities and limits, is left to
``bridges/azure/document``, which assembles the document.
"""

from intentc import Compiler

from .application_gateway import GatewayIntent
from .backend import BackendIntent
from .ingress import IngressIntent
from .listener_group import ListenerGroupIntent
from .pool import PoolUseIntent
from .settings import SETTINGS
from .shared_parts import CertificateUseIntent, DefaultUseIntent, PortUseIntent, RewriteUseIntent
from .site_claims import SiteIntent

compiler = Compiler(
    "appgw",
    [
        BackendIntent,
        CertificateUseIntent,
        DefaultUseIntent,
        GatewayIntent,
        IngressIntent,
        ListenerGroupIntent,
        PoolUseIntent,
        PortUseIntent,
        RewriteUseIntent,
        SiteIntent,
    ],
    settings=SETTINGS,
    needs_synced=[
        "azure_application_gateway_rewrite",
        "azure_ingress_prohibited_target",
        "endpoint_slice",
        "endpoints",
        "ingress",
        "ingress_class",
        "kubernetes_node",
        "pod",
        "secret",
        "service",
    ],
)
"""The entry point ``appgw`` of the group ``intentc.compilers``."""

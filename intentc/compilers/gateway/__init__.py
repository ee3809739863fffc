"""The compiler of running Contours: GatewayClasses, Gateways and Contours become a Contour and its Envoys in a cluster.

Rules: docs/gateway.md. A Gateway of gateway.networking.k8s.io is an instance of its own; Contours without class and
Gateways of networking.x-k8s.io are candidates for the one instance of their namespace. The kinds are declared in
``config/schemas/gateway``, the reaction map is ``reactions/gateway.yml``.

This package holds the intents, one file per kind (both versions of classes in one), and what they share.
``gateway_class`` finds the parameters that users set, ``gateway_listeners`` what a Gateway wants; both become an
``Instance`` (``instance.py``), the typed value that stands between the two halves. ``contenders`` decides who of
several has a namespace, and an object. ``children`` turns an ``Instance`` into the objects of a cluster; ``running``
reads what became of them. ``restarts`` says what a plan means for what runs.
"""

from intentc import Compiler

from .children import MADE_KINDS
from .contenders import ALL
from .contour import ContourIntent
from .contour_instance import ContourInstanceIntent
from .gateway import GatewayIntent
from .gateway_class import EarlyGatewayClassIntent, GatewayClassIntent
from .gateway_v1alpha1 import EarlyGatewayIntent
from .restarts import restarts
from .settings import SETTINGS

compiler = Compiler(
    "gateway",
    [
        ContourInstanceIntent,
        ContourIntent,
        EarlyGatewayClassIntent,
        EarlyGatewayIntent,
        GatewayClassIntent,
        GatewayIntent,
    ],
    settings=SETTINGS,
    finalizers=sorted(ALL),
    makes=MADE_KINDS,
    remarks={"manifest": restarts},
)
"""The entry point ``gateway`` of the group ``intentc.compilers``."""

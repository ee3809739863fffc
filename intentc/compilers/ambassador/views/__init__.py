"""What people may look at of a gateway (docs/ambassador.md §4.6): its routes, its host names, connections that pass as
they are, and the services in use.

Each module is one view, a pure function of the elements of Envoy that stand in etcd; ``telling`` is what they share.
Paging and filtering are left to those who ask.
"""

from intentc import Overview

from .connections import CONNECTIONS
from .domains import DOMAINS
from .routes import ROUTES
from .services import SERVICES

VIEWS: dict[str, Overview] = {"routes": ROUTES, "domains": DOMAINS, "connections": CONNECTIONS, "services": SERVICES}
"""By the names under which they are asked for."""
